"""The dispatcher against answers that come late, twice or never; the queue is the in-memory one, time is real."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from paceline import Context, Jobs, NewJob
from paceline.claims import Finished, Incarnation, Registration, Step
from paceline.errors import DatabaseError
from paceline.scope import Scope
from paceline.testing import MemoryQueue, MemoryRunner
from paceline_runner.attempt import Executor
from paceline_runner.dispatcher import Dispatcher, End
from paceline_runner.executors import Executors, PythonExecutor
from paceline_runner.metrics import Metrics
from paceline_runner.settings import Settings
from paceline_runner.tenure import Tenure
from paceline_runner.workbench import Workbench

Answer = Callable[[Step], Step]
SETTINGS = Settings(database_url="postgresql://nobody@localhost/x", name="r1", pool="builds", slots=8, batch=3)


class Line(MemoryRunner):
    """A registration whose answers a test can lose, or follow with something else."""

    after: Answer | None = None
    before: Callable[[int, Sequence[Finished]], None] | None = None
    steps = 0
    most_wanted = 0

    async def step(self, want: int, done: Any = (), *, listen: Any = None) -> Step:
        self.steps += 1
        if self.before is not None:
            self.before(want, done)
        self.most_wanted = max(self.most_wanted, want)
        await asyncio.sleep(0)
        step = replace(await super().step(want, done), listening=listen is not None)
        await asyncio.sleep(0)
        after, self.after = self.after, None
        return step if after is None else after(step)


class World:
    """A queue, a runner's parts around it, and what its handlers did."""

    def __init__(self, settings: Settings, line: Line, queue: MemoryQueue, jobs: Jobs, scope: Scope) -> None:
        self.queue, self.line = queue, line
        self.tenure = Tenure(cast(Incarnation, line), float("inf"), lambda: self.dispatcher.poke())
        python: Executor = PythonExecutor(scope, settings.slots)
        self.metrics = Metrics("builds")
        executors = Executors(python, lambda _: python, "builds")
        self.bench = Workbench(settings, jobs, executors, self.metrics)
        self.dispatcher = Dispatcher(settings, self.tenure, self.bench, self.metrics, lambda: None)
        self.bench.wake = self.dispatcher.wake


@asynccontextmanager
async def _world(jobs: Jobs, settings: Settings = SETTINGS) -> AsyncIterator[World]:
    queue = MemoryQueue("builds")
    line = await Line.register(queue, Registration(name="r1", pool="builds", kinds=jobs.kinds))
    async with Scope(jobs) as scope:
        yield World(settings, line, queue, jobs, scope)


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def jobs(ran: list[int]) -> Jobs:
    registry = Jobs()

    @registry.handler("count")
    async def count(_: object, context: Context) -> None:
        ran.append(context.job_id)

    return registry


def _lose(step: Step) -> Step:
    raise DatabaseError(f"the answer is lost: {len(step.jobs)} jobs")


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(45):
        while not true():  # noqa: ASYNC110 -- the dispatcher tells nobody
            await asyncio.sleep(0.01)


async def test_an_answer_that_comes_after_the_end_of_the_lease_starts_nothing(jobs: Jobs, ran: list[int]) -> None:
    async with _world(jobs) as world:
        await world.queue.enqueue_many([NewJob(kind="count")] * 3)

        def too_late(step: Step) -> Step:
            world.tenure.end("LeaseExpired")
            return step

        world.line.after = too_late
        assert await world.dispatcher.run() is End.LOST
        assert ran == []
        assert world.bench.holding == 0
        assert world.bench.free == SETTINGS.slots
        assert b'paceline_runner_jobs_fenced_total{pool="builds"} 3.0' in world.metrics.text()


async def test_a_claim_whose_answer_is_lost_goes_back_and_each_job_runs_once(jobs: Jobs, ran: list[int]) -> None:
    async with _world(jobs) as world:
        made = await world.queue.enqueue_many([NewJob(kind="count")] * 5)
        world.line.after = _lose
        running = asyncio.create_task(world.dispatcher.run())
        await _until(lambda: len(world.queue.jobs("done")) == 5)
        world.dispatcher.drain(None)
        assert await running is End.DRAINED
        assert sorted(ran) == [each.id for each in made]
        assert all((job.tries, job.losses) == (0, 0) for job in world.queue.jobs("done"))


async def test_an_ack_whose_answer_is_lost_is_sent_again_until_it_is_taken(jobs: Jobs, ran: list[int]) -> None:
    async with _world(jobs) as world:
        (made,) = await world.queue.enqueue_many([NewJob(kind="count")])
        acks = []

        def unheard(want: int, done: Sequence[Finished]) -> None:
            """The request itself is lost, twice: nothing has reached the database."""
            if done:
                acks.append([each.job.id for each in done])
                if len(acks) < 3:
                    raise DatabaseError("the request is lost")

        world.line.before = unheard
        running = asyncio.create_task(world.dispatcher.run())
        await _until(lambda: world.queue.state_of(made.id) == "done")
        world.dispatcher.drain(None)
        assert await running is End.DRAINED
        assert (ran, acks) == ([made.id], [[made.id]] * 3)
        assert not world.bench.owed


async def test_several_dispatchers_together_never_take_more_than_the_free_slots(ran: list[int]) -> None:
    registry, now, most = Jobs(), set[int](), 0

    @registry.handler("count")
    async def count(_: object, context: Context) -> None:
        nonlocal most
        now.add(context.job_id)
        most = max(most, len(now))
        await asyncio.sleep(0.001)
        now.discard(context.job_id)
        ran.append(context.job_id)

    settings = Settings(
        database_url="postgresql://nobody@localhost/x", name="r1", pool="builds", slots=8, batch=3, dispatchers=4
    )
    async with _world(registry, settings) as world:
        made = await world.queue.enqueue_many([NewJob(kind="count")] * 300)
        running = asyncio.create_task(world.dispatcher.run())
        await _until(lambda: len(world.queue.jobs("done")) == 300)
        world.dispatcher.drain(None)
        assert await running is End.DRAINED
    assert sorted(ran) == [each.id for each in made]
    assert 3 < most <= 8, "more than one dispatcher's batch, not more than the slots"
    assert world.line.most_wanted == 3


async def test_a_count_of_the_heartbeat_finds_a_claim_that_was_never_heard_of(jobs: Jobs, ran: list[int]) -> None:
    async with _world(jobs) as world:
        (made,) = await world.queue.enqueue_many([NewJob(kind="count")])
        await MemoryRunner.step(world.line, 5)
        running = asyncio.create_task(world.dispatcher.run())
        await _until(lambda: world.line.steps > 0)
        assert world.queue.state_of(made.id) == "running"
        world.dispatcher.compare((await world.line.heartbeat()).held)
        await _until(lambda: world.queue.state_of(made.id) == "done")
        world.dispatcher.drain(None)
        assert await running is End.DRAINED
        assert ran == [made.id]


async def test_a_wake_up_that_comes_while_it_asks_is_looked_after_at_once(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the answer brings may be older than what the wake-up tells of."""
    monkeypatch.setattr(Dispatcher, "_patience", lambda *_: 600.0)
    async with _world(jobs) as world:
        world.tenure.listening = True

        def woken(step: Step) -> Step:
            world.dispatcher.poke()
            return step

        world.line.after = woken
        running = asyncio.create_task(world.dispatcher.run())
        await _until(lambda: world.line.steps == 2)
        world.dispatcher.drain(None)
        assert await running is End.DRAINED
