"""Who puts jobs in while everything breaks, and writes down what it was told.

By the SDK with a ledger in the same transaction, by HTTP with idempotency keys, and by calls that wait for an answer.
Who may ask again does so until it is told; a call without a key is made once, whatever comes of it.
"""

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from chaos.record import Answer
from chaos.stage import Stage
from chaos.work import CRON, Batch, Planned, batches, calls
from history.events import Expected
from history.plan import Batch as Together
from history.produce import _insist, opened
from paceline.database import Database
from paceline.job import NewJob
from paceline.queue import Queue

PACE = 5.0
"""Jobs a second of each producer, about."""
STREAMS = 4
"""Numbers of jobs are dealt in turn, so that those of one do not depend on the haste of another."""
DEADLINE = 20.0
"""Seconds of a call."""
SILENCE = DEADLINE + 40
"""After so many nobody will answer any more."""
PATIENCE = 150.0
LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


@dataclass
class Producers:
    """All of them, and what they know."""

    stage: Stage
    seed: int
    expected: dict[int, Expected] = field(default_factory=lambda: {CRON: Expected("d", 0)})
    told: dict[int, int] = field(default_factory=dict)
    keyed: set[int] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    asked: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._own = itertools.count(0, STREAMS)

    def next_number(self) -> int:
        """For a job that is none of the load."""
        return next(self._own)

    async def run(self) -> None:
        """Until it is over; whatever was asked for is answered then."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._by_ledger())
            group.create_task(self._by_http())
            group.create_task(self._call("first", itertools.count(3, 2 * STREAMS)))
            group.create_task(self._call("second", itertools.count(3 + STREAMS, 2 * STREAMS)))

    async def put(self, planned: Planned) -> int:
        """One job that is none of the load; with a ledger, so that it is there once."""
        self.expected[planned.n] = planned.expected
        (job,) = await self._with_ledger(planned.pool, [planned.job], planned.n, self.stage.database)
        self.told[planned.n] = job
        return job

    async def _pause(self, seconds: float) -> bool:
        """Whether to go on after it."""
        try:
            await asyncio.wait_for(self.over.wait(), seconds)
        except TimeoutError:
            return True
        return False

    async def _by_ledger(self) -> None:
        database = await opened(self.stage.databases.ways["producers"].url)
        try:
            for batch in batches(self.seed, "ledger", itertools.count(1, STREAMS), PACE):
                if not await self._pause(batch.gap):
                    return
                self._expect(batch)
                first = batch.jobs[0].n
                ids = await self._with_ledger(batch.pool, [each.job for each in batch.jobs], first, database)
                self.told |= {each.n: job for each, job in zip(batch.jobs, ids, strict=True)}
        finally:
            database.terminate()

    async def _with_ledger(self, pool: str, jobs: list[NewJob], first: int, database: Database) -> list[int]:
        return await _insist(Queue(database, pool), Together(0.0, first, tuple(jobs), frozenset()), f"chaos/{first}")

    def _expect(self, batch: Batch) -> None:
        self.expected |= {each.n: each.expected for each in batch.jobs}
        self.keyed |= {each.n for each in batch.jobs}

    async def _by_http(self) -> None:
        for batch in batches(self.seed, "http", itertools.count(2, STREAMS), PACE):
            if not await self._pause(batch.gap):
                return
            self._expect(batch)
            body = {"pool": batch.pool, "jobs": [as_json(each.job) for each in batch.jobs]}
            made = await self._until_told(body, f"{self.seed}-{batch.jobs[0].n}")
            self.told |= {each.n: job["id"] for each, job in zip(batch.jobs, made["jobs"], strict=True)}

    async def _until_told(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while True:
            status, said = await self.post("/v1/jobs", body, 15, **{"Idempotency-Key": key})
            if status == 201:
                return said
            if status not in LATER and status != 0:
                raise AssertionError(f"a good request was refused: {status} {said}")
            assert time.monotonic() < end, f"nobody took these jobs in {PATIENCE:.0f} s: {status} {said}"
            await asyncio.sleep(0.2)

    async def _call(self, name: str, numbers: "itertools.count[int]") -> None:
        for gap, planned, keyed in calls(self.seed, name, numbers):
            if not await self._pause(gap):
                return
            self.expected[planned.n] = planned.expected
            self.asked += 1
            self.answers.append(await self._answered(planned, keyed))

    async def _answered(self, planned: Planned, keyed: bool) -> Answer:
        """The answer, or that there is none. With a key one asks again until the job has come to an end."""
        body = {"pool": planned.pool, **as_json(planned.job), "timeout_seconds": DEADLINE}
        if not keyed:
            for name in ("max_tries", "max_losses"):
                del body[name]
        headers = {"Idempotency-Key": f"{self.seed}-{planned.n}"} if keyed else {}
        if keyed:
            self.keyed.add(planned.n)
        end = time.monotonic() + PATIENCE
        while True:
            status, said = await self.post("/v1/call", body, SILENCE, **headers)
            job = said.get("id", said.get("job"))
            if not keyed or (status not in (0, 408, 429, 500, 503)) or time.monotonic() > end:
                return Answer(
                    n=planned.n, at=time.time(), status=status, error=said.get("error", ""), job=job,
                    result=said.get("result"), keyed=keyed,
                )  # fmt: skip
            await asyncio.sleep(0.2)

    async def post(self, path: str, body: object, seconds: float, **headers: str) -> tuple[int, dict[str, Any]]:
        """Status and answer; 0 where the connection broke, or nothing came."""
        own = {"Authorization": f"Bearer {self.stage.producer_token}", **headers}
        try:
            async with self.stage.web.post(
                f"{self.stage.front.url}{path}", json=body, headers=own, timeout=aiohttp.ClientTimeout(seconds)
            ) as answer:
                return answer.status, await answer.json(content_type=None)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            return 0, {"error": repr(error)}


def as_json(job: NewJob) -> dict[str, Any]:
    """As the gateway takes it."""
    fields: dict[str, Any] = {
        "kind": job.kind, "payload": job.payload, "priority": job.priority, "key": job.key, "key_limit": job.key_limit,
        "delay_seconds": None if job.delay is None else job.delay.total_seconds(),
        "max_tries": job.max_tries, "max_losses": job.max_losses,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}
