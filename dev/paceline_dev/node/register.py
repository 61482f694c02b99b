"""Keeps the Node object alive: registers it, renews its Lease and its heartbeat, and registers it again if need be."""

import asyncio
from collections.abc import Callable

from paceline_dev.node.api import MERGE, TROUBLE, AnswerError, Api
from paceline_dev.node.faults import Faults
from paceline_dev.node.node_object import NodeSpec, lease, node_object, node_status
from paceline_dev.node.wire import Json, micro_stamp, now

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STATUS_EVERY = 6
"""With each sixth renewal of the Lease the status is written too: once a minute by default."""


class Registration:
    """One node's entry in the cluster."""

    def __init__(
        self,
        api: Api,
        spec: NodeSpec,
        address: str,
        port: int,
        faults: Faults,
        renew: float,
        say: Callable[[str], None],
    ) -> None:
        """Renew every `renew` seconds, unless a fault forbids it."""
        self._api = api
        self._spec = spec
        self._address = address
        self._port = port
        self._faults = faults
        self._renew = renew
        self._say = say
        self._wake = asyncio.Event()
        self._uid = ""

    @property
    def _path(self) -> str:
        return f"/api/v1/nodes/{self._spec.name}"

    async def register(self) -> Json:
        """Create the Node, or take over the one of that name, and say that it is ready."""
        try:
            found = await self._api.post("/api/v1/nodes", node_object(self._spec))
        except AnswerError as error:
            if error.code != 409:
                raise
            found = await self._api.get(self._path)
        self._uid = found["metadata"]["uid"]
        await self._renew_lease()
        return await self._write_status(found)

    async def keep(self) -> None:
        """Renew for ever."""
        turn = 0
        while True:
            hurried = self._wake.is_set()
            self._wake.clear()  # before the renewal: who hurries during it means another one
            if not self._faults.now.not_ready:
                turn += 1
                await self._try(status=hurried or turn % STATUS_EVERY == 0)
            try:
                async with asyncio.timeout(self._renew):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _try(self, *, status: bool) -> None:
        try:
            await self._renew_lease()
            if status:
                found = await self._api.find(self._path)
                await (self._write_status(found) if found else self.register())
        except (AnswerError, *TROUBLE) as error:
            self._say(f"cannot renew: {str(error) or type(error).__name__}")

    async def _renew_lease(self) -> None:
        path = f"{LEASES}/{self._spec.name}"
        renewal = {"spec": {"renewTime": micro_stamp(now())}}
        try:
            await self._api.patch(path, renewal, MERGE)
        except AnswerError as error:
            if error.code != 404:
                raise
            await self._api.post(LEASES, lease(self._spec, self._uid, now()))

    async def _write_status(self, found: Json) -> Json:
        status = node_status(self._spec, self._address, self._port, found.get("status") or {}, now())
        return await self._api.patch(f"{self._path}/status", {"status": status})

    def look(self, found: Json | None) -> None:
        """The Node has changed: one that is gone or is called unready is set right at once."""
        conditions = ((found or {}).get("status") or {}).get("conditions") or ()
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        if not ready and not self._faults.now.not_ready:
            self.hurry()

    def hurry(self) -> None:
        """Renew everything now."""
        self._wake.set()

    async def leave(self) -> None:
        """Take the Node and its Lease away."""
        for path in (self._path, f"{LEASES}/{self._spec.name}"):
            try:
                await self._api.delete(path)
            except (AnswerError, *TROUBLE) as error:
                if getattr(error, "code", 0) != 404:
                    self._say(f"could not delete {path}: {error}")
