"""Producers who never try again, a caller who waits from beginning to end, and a runner that polls for their jobs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.conftest import Client

PATIENCE = 60
MORE = 20
HELD = "held"


async def until(true: Callable[[], Awaitable[object]], what: str) -> None:
    """Wait for something that nobody tells."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not await true():  # noqa: ASYNC110 -- see above
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"it never came to this: {what}") from None


@dataclass
class Load:
    """What was enqueued and what was done, each as often as it was."""

    runner: Client
    incarnation: int
    made: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    held: dict[str, Any] = field(default_factory=dict)
    """The run that the caller waits for."""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def produce(self, producer: Client, over: asyncio.Event) -> None:
        """Until it is told; a refusal ends the story."""
        while not over.is_set():
            answer = await producer.post("/v1/jobs", json={"kind": "count"})
            assert answer.status_code == 201, answer.text
            self.made.append(answer.json()["id"])
            await asyncio.sleep(0.05)  # more would only wait

    async def serve(self) -> None:
        """One registration from beginning to end: whoever is fenced or refused ends the story."""
        while not (self.over.is_set() and set(self.made) <= set(self.done)):
            poll = {"incarnation": self.incarnation, "want": 10, "wait": 1}
            found = await self._asked(self.runner.get("/runner/runs", params=poll))
            self.held = next((run for run in found["runs"] if run["kind"] == HELD), self.held)
            await asyncio.gather(*(self.finish(run) for run in found["runs"] if run["kind"] != HELD))
            runs = [[self.held["id"], self.held["fence"]]] if self.held else []
            beat = {"incarnation": self.incarnation, "runs": runs}
            assert (await self._asked(self.runner.post("/runner/heartbeat", json=beat)))["refused"] == []

    async def finish(self, run: dict[str, Any]) -> None:
        """It is done."""
        told = {"incarnation": self.incarnation, "fence": run["fence"], "result": "seen"}
        answer = await self.runner.post(f"/runner/runs/{run['id']}/complete", json=told)
        assert answer.status_code == 200, answer.text
        self.done.append(run["id"])

    async def _asked(self, answering: Awaitable[Any]) -> dict[str, Any]:
        answer = await answering
        assert answer.status_code == 200, answer.text
        assert answer.json()["verdict"] == "ok", answer.text
        return dict(answer.json())

    async def goes_on(self) -> None:
        """Wait until what was enqueued from now on is done."""
        number = len(self.made) + MORE

        async def is_so() -> bool:
            return len(self.made) >= number and set(self.made[:number]) <= set(self.done)

        await until(is_so, "new jobs are done")


@contextlib.asynccontextmanager
async def under_load(runner: Client, caller: Client, producer: Client) -> AsyncIterator[Load]:
    """Until the end of the block; then the caller gets his answer."""
    hello = await runner.post("/runner/register", json={"kinds": ["*"], "slots": 20})
    load = Load(runner, hello.json()["incarnation"])
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(load.serve())
        body = {"kind": HELD, "timeout_seconds": 240}
        calling = group.create_task(caller.post("/v1/call", json=body, timeout=240))

        async def is_held() -> bool:
            return bool(load.held)

        await until(is_held, "the runner has what the caller waits for")
        enough = asyncio.Event()
        producing = [group.create_task(load.produce(producer, enough)) for _ in range(3)]
        yield load
        enough.set()
        await asyncio.gather(*producing)
        load.over.set()
        await serving
        await load.finish(load.held)
        answer = await calling
        assert (answer.status_code, answer.json()) == (200, {"id": load.held["id"], "result": "seen"})
    assert sorted(load.done) == sorted([*load.made, load.held["id"]]), "each that was acknowledged was done, and once"
