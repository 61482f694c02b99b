"""Jobs that come in bursts to one pool and steadily to two, of every sort; the ids that were told are remembered."""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import aiohttp

from paceline import NewJob, Queue
from paceline.tokens import Tokens
from paceline_bench.errors import NotMeasuredError
from paceline_bench.soak.stage import LED, ROLLED, SURGE, Stage

BURST: Final = (40, 120)
BURST_PAUSE: Final = (50.0, 110.0)
"""Long enough for a group to go back to none now and then."""
FLOW: Final = {SURGE: 0.2, ROLLED: 3.0, LED: 1.0}
"""Jobs a second between bursts."""
BY_HTTP: Final = 0.3
CALLS: Final = 0.2
"""Callers that wait, each second."""
NAP: Final = (0.05, 2.0)
KEYS: Final = 5


@dataclass
class Load:
    """Who enqueues, and what."""

    stage: Stage
    web: aiohttp.ClientSession
    told: set[int] = field(default_factory=set)
    calls: int = 0
    luck: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 -- no secret
    token: str = ""

    async def run(self) -> None:
        """Until it is cancelled."""
        self.token = await Tokens(self.stage.database).create("pk")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._bursts())
            tasks.create_task(self._call())
            for pool, rate in FLOW.items():
                tasks.create_task(self._flow(pool, rate))

    async def _bursts(self) -> None:
        while True:
            await self._add(SURGE, self.luck.randint(*BURST))
            await asyncio.sleep(self.luck.uniform(*BURST_PAUSE))

    async def _flow(self, pool: str, rate: float) -> None:
        while True:
            await asyncio.sleep(self.luck.expovariate(rate))
            await self._add(pool, 1)

    async def _call(self) -> None:
        """Callers that wait for the result; one that is told of a failure would be told so."""
        while True:
            await asyncio.sleep(self.luck.expovariate(CALLS))
            body = {"kind": "nap", "payload": 0.1, "pool": ROLLED, "timeout_seconds": 120}
            answer = await self._post("/v1/call", body, 200)
            self.told.add(int(answer["id"]))
            self.calls += 1

    async def _add(self, pool: str, count: int) -> None:
        if count == 1 and self.luck.random() < BY_HTTP:
            answer = await self._post("/v1/jobs", {"kind": "nap", "payload": 0.1, "pool": pool}, 201)
            self.told.add(int(answer["id"]))
            return
        jobs = [self._job() for _ in range(count)]
        self.told |= {made.id for made in await Queue(self.stage.database, pool).enqueue_many(jobs)}

    async def _post(self, path: str, body: object, expected: int) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.web.post(f"{self.stage.door.url}{path}", json=body, headers=headers) as answer:
            if answer.status != expected:
                raise NotMeasuredError(f"{path} answered {answer.status}: {(await answer.text())[:200]}")
            found: dict[str, str] = await answer.json()
            return found

    def _job(self) -> NewJob:
        """Mostly plain; some wait, some share a key, some fail at their first try."""
        luck, seconds = self.luck.random(), round(self.luck.uniform(*NAP), 3)
        if luck < 0.02:
            return NewJob(kind="flaky", payload=seconds)
        if luck < 0.10:
            return NewJob(kind="nap", payload=seconds, delay=timedelta(seconds=self.luck.uniform(1, 20)))
        if luck < 0.20:
            return NewJob(kind="nap", payload=0.1, key=f"tenant-{self.luck.randrange(KEYS)}", key_limit=2)
        return NewJob(kind="nap", payload=seconds, priority=self.luck.randrange(10))
