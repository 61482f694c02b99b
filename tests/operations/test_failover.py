"""The primary is lost while runners work, and its synchronous standby takes its place."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from operations.pairs import PATIENCE, followed, until
from operations.servers import Machine, at, machine
from paceline import NewJob
from paceline.database import Database
from paceline.errors import PacelineError
from paceline.job import JobId
from paceline.queue import Queue
from paceline.testing import PostgresServer
from runner.process import starting
from support.proxy import Proxy, proxy

LEFT = "SELECT count(*) FROM paceline.job"
DONE = "SELECT array_agg(h.id) FROM paceline.history h WHERE h.outcome = 'd'"


@pytest.fixture
def place() -> Iterator[Machine]:
    with machine() as made:
        yield made


@pytest.fixture
async def pair(place: Machine) -> AsyncIterator[tuple[PostgresServer, PostgresServer]]:
    """A primary that answers when its standby has it too, and the standby."""
    async with followed(place) as (primary, standby):
        async with await Database.open(primary.url) as root:
            await root.value("ALTER SYSTEM SET synchronous_standby_names = '*'")
            await root.value("SELECT pg_reload_conf()")
            await until(root, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
        yield primary, standby


async def feed(way: Proxy, made: list[JobId], stop: asyncio.Event) -> None:
    """Enqueue all the time; what was acknowledged is written down, and who is refused tries again."""
    while not stop.is_set():
        with contextlib.suppress(PacelineError, OSError):
            async with await Database.open(way.url, size=1) as database:
                queue = Queue(database, "builds")
                while not stop.is_set():
                    made += [each.id for each in await queue.enqueue_many([NewJob(kind="count")] * 5)]
                    await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)


async def test_no_job_that_was_acknowledged_is_lost_and_no_fence_is_given_twice(
    pair: tuple[PostgresServer, PostgresServer], tmp_path: Path
) -> None:
    primary, standby = pair
    made: list[JobId] = []
    stop = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack:
        way = await stack.enter_async_context(proxy(at(primary)))
        start = await stack.enter_async_context(starting(way.url, tmp_path))
        runners = [
            await start(name, PACELINE_HEARTBEAT_INTERVAL_SECS="10", PACELINE_STALE_THRESHOLD_SECS="90")
            for name in ("r1", "r2")
        ]
        feeding = asyncio.create_task(feed(way, made, stop))
        before = await _many(made, 100)
        await asyncio.to_thread(primary.crash)
        async with await Database.open(at(standby)) as database:
            await database.value("SELECT pg_promote()")
            way.lead_to(at(standby))
            way.cut()
            await _many(made, before + 100)
            stop.set()
            await feeding
            await until(database, f"SELECT NOT EXISTS ({LEFT.replace('count(*)', '')})")
            done = await database.value(DONE)
        for runner in runners:
            assert runner.process.returncode is None, runner.log
    assert set(made) <= set(done), "what was acknowledged is done"
    assert [job for job, times in Counter(done).items() if times > 1] == []
    runs = (tmp_path / "runs").read_text().split("\n")[:-1]
    assert [run for run, times in Counter(runs).items() if times > 1] == [], "a run again has another fence"


async def _many(made: list[JobId], number: int) -> int:
    """Wait until so many jobs are acknowledged; how many there are."""
    async with asyncio.timeout(PATIENCE):
        while len(made) < number:  # noqa: ASYNC110 -- a list tells nobody
            await asyncio.sleep(0.05)
    return len(made)
