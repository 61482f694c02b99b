"""A runner that dials out, written down frame by frame."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

PATIENCE = 50
HELLO: dict[str, Any] = {"type": "hello", "kinds": ["*"], "slots": 2}


class Socket:
    """One end of it."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.welcome: dict[str, Any] = {}

    @property
    def incarnation(self) -> int:
        return int(self.welcome["incarnation"])

    async def send(self, kind: str, **frame: Any) -> None:
        await self.connection.send(json.dumps({"type": kind, **frame}))

    async def any(self) -> dict[str, Any]:
        """The next frame."""
        return dict(json.loads(await self.connection.recv()))

    async def next(self, kind: str) -> dict[str, Any]:
        """The next frame of that type."""
        while (frame := await self.any())["type"] != kind:
            pass
        return frame

    async def closed(self) -> int:
        """The code of its end."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.connection.recv()
        return self.connection.close_code or 0

    async def ask(self, want: int = 1) -> dict[str, Any]:
        """Be ready for so many, and get the first."""
        await self.send("ready", want=want)
        return await self.next("run")

    async def beat(self, *runs: dict[str, Any]) -> dict[str, Any]:
        """Name these."""
        await self.send("heartbeat", runs=pairs(*runs))
        return await self.next("beat")

    def drop(self) -> None:
        """As a cable that is cut."""
        self.connection.transport.abort()

    def resume(self, *runs: dict[str, Any], **more: Any) -> dict[str, Any]:
        """What a hello says to come back."""
        return {"resume": {"incarnation": self.incarnation, "runs": pairs(*runs), **more}}


def pairs(*runs: dict[str, Any]) -> list[list[int]]:
    """Runs as they are named."""
    return [[run["id"], run["fence"]] for run in runs]


@contextlib.asynccontextmanager
async def opened(address: str, token: str, **options: Any) -> AsyncIterator[Socket]:
    """A socket that has said nothing yet."""
    url = address.replace("http", "ws", 1) + "/runner/connect"
    headers = {"Authorization": f"Bearer {token}"}
    options = {"subprotocols": [Subprotocol("paceline.v1")], "open_timeout": PATIENCE, **options}
    async with connect(url, additional_headers=headers, **options) as connection:
        yield Socket(connection)


@contextlib.asynccontextmanager
async def dialled(address: str, token: str, **hello: Any) -> AsyncIterator[Socket]:
    """One that has said hello, and was welcomed."""
    async with opened(address, token) as socket:
        await socket.connection.send(json.dumps({**HELLO, **hello}))
        socket.welcome = await socket.next("welcome")
        yield socket
