"""The primary is lost, and a standby takes its place that has not got its last writes."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from operations.pairs import followed, part
from operations.servers import Machine, at, machine
from paceline import NewJob
from paceline.database import Database
from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.testing import PostgresServer
from postgres.cli.process import run_cli
from runner.process import RunnerProcess, StartRunner, eventually, starting, until
from support.proxy import Proxy, proxy

pytestmark = pytest.mark.timeout(240)
LONG = ("--heartbeat-interval", "1", "--stale-threshold", "120", "--slots", "1")
"""A lease that is not what ends anybody here."""
WAITING = 3


@pytest.fixture
def place() -> Iterator[Machine]:
    with machine() as made:
        yield made


class Story:
    """What there is before, and what is written in the moment that is lost."""

    def __init__(self, queue: Queue, start: StartRunner, scratch: Path) -> None:
        self.queue, self.start, self.scratch = queue, start, scratch

    async def kept(self) -> None:
        """What the standby has got."""
        self.early = (await self.queue.enqueue("count")).id
        self.survivor = await self.start("survivor", *LONG)
        await until(self.queue, self.early, "done")
        self.held = (await self.queue.enqueue("wait", "go")).id
        await until(self.queue, self.held, "running")
        self.waiting = [each.id for each in await self.queue.enqueue_many([NewJob(kind="count")] * WAITING)]
        self.special = (await self.queue.enqueue(NewJob(kind="wait", payload="on", tags=("gpu",)))).id

    async def lost(self) -> None:
        """What it has not: results, claims, a registration, a job."""
        (self.scratch / "go").touch()
        self.late = (await self.queue.enqueue("count")).id
        for job in (self.held, *self.waiting, self.late):
            await until(self.queue, job, "done")
        self.stranger = await self.start("stranger", *LONG, PACELINE_TAGS="gpu")
        await eventually(self.special_begins, "its handler has begun")

    async def special_begins(self) -> bool:
        return self.special in {job for job, _ in self.runs()}

    def runs(self) -> list[tuple[int, int]]:
        """Jobs and fences that handlers were given, in their order."""
        lines = [line for name in ("runs", "begun") for line in (self.scratch / name).read_text().split("\n")[:-1]]
        return [(int(job), int(fence)) for job, fence in map(str.split, lines)]


async def states(database: Database, *jobs: JobId) -> list[str]:
    found = [await Reader(database).job_detail(job) for job in jobs]
    return ["unknown" if each is None else each.state for each in found]


async def take_over(primary: PostgresServer, standby: PostgresServer, way: Proxy) -> None:
    """The address leads to nobody while the standby becomes a server that takes writes."""
    way.refuse()
    way.cut()
    await asyncio.to_thread(primary.crash)
    async with await Database.open(standby.url) as root:
        assert await root.value("SELECT pg_promote()")


async def test_what_the_new_primary_has_is_done_once_more_and_nobody_is_taken_for_another(
    place: Machine, tmp_path: Path
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        primary, standby = await stack.enter_async_context(followed(place))
        way = await stack.enter_async_context(proxy(at(primary)))
        start = await stack.enter_async_context(starting(way.url, tmp_path))
        async with await Database.open(at(primary)) as before:
            story = Story(Queue(before, "builds"), start, tmp_path)
            await story.kept()
            await part(primary, standby)
            await story.lost()
        given = story.runs()
        await take_over(primary, standby, way)
        database = await stack.enter_async_context(await Database.open(at(standby)))
        await left(database, story)

        said = await run_cli(at(standby), "database", "restored", "--yes", "--json")
        assert (said.code, said.json) == (0, {"registrations": 1, "jobs": 1}), said.err
        way.lead_to(at(standby))
        way.refuse(False)
        await told(story.survivor, story.stranger)
        (tmp_path / "on").touch()
        queue = Queue(database, "builds")
        again = (await queue.enqueue("count")).id
        assert again > story.late, "its producer sends it again, and no number is given twice"
        await start("stranger", *LONG, PACELINE_TAGS="gpu")
        for job in (story.held, *story.waiting, story.special, again):
            assert (await until(queue, job, "done")).losses == 0, "nothing is charged"
        await accounted(story, given, again)


async def left(database: Database, story: Story) -> None:
    """What the new primary has: as if the moment had not been."""
    assert await states(database, story.early, story.held, story.late) == ["done", "running", "unknown"]
    assert await states(database, *story.waiting, story.special) == ["ready"] * (WAITING + 1)


async def told(idle: RunnerProcess, busy: RunnerProcess) -> None:
    """Both are told that they are nobody any more."""
    assert await busy.ended() == 70
    assert "ends" in busy.lines[-1]
    await idle.said("registered as", 2)


async def accounted(story: Story, given: list[tuple[int, int]], again: JobId) -> None:
    """Who ran how often, and with which fences."""
    runs = story.runs()
    assert [run for run, times in Counter(runs).items() if times > 1] == [], "no fence is given twice"
    later = runs[:]
    for run in given:
        later.remove(run)
    assert min(fence for _, fence in later) > max(fence for _, fence in given)
    assert Counter(job for job, _ in runs) == {
        story.early: 1, story.held: 2, story.late: 1, again: 1, story.special: 2,
        **dict.fromkeys(story.waiting, 2),
    }  # fmt: skip
