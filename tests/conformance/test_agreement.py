"""Random short histories, played on the double and on the real SQL in lock-step: after each move both say the same.

One kind makes one lane, so that the order of claims is fixed. Times are chosen such that no moment comes within five
seconds of a deadline: the database's clock runs on while the double's stands still. A history that takes longer than
that says nothing, and another is played instead.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias, get_args

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from paceline.claims import Failed, Finished, Step
from paceline.job import Claimed, JobId, NewJob
from paceline.testing import transactional_queue
from support.backends import DUE, AnyRunner, Backend, MemoryBackend, SqlBackend

FIXED_PLANS = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off"
"""Jobs that move at one moment then do so by id; SQL promises no order among them, a comparison needs one."""
LEASE = timedelta(seconds=45)
SLACK = 5.0
RUNNERS = 2

Answer: TypeAlias = object
Upset = Literal["beat", "drain", "leave", "expire", "taint", "untaint"]


@dataclass
class World:
    """A backend, and what has been made on it; both sides number their things alike."""

    backend: Backend
    runners: list[AnyRunner] = field(default_factory=list)
    claims: list[tuple[int, Claimed]] = field(default_factory=list)
    """Everything ever claimed, stale ones too, with the number of the runner."""
    jobs: list[JobId] = field(default_factory=list)

    def names(self, jobs: Sequence[JobId] | frozenset[JobId]) -> list[int]:
        return [self.jobs.index(job) for job in jobs]

    def told(self, runner: int, step: Step) -> Answer:
        self.claims += [(runner, job) for job in step.jobs]
        jobs = [(job.priority, job.tries, job.losses, job.payload) for job in step.jobs]
        refused, cancelled = sorted(self.names(step.refused)), sorted(self.names(step.cancelled))
        return step.verdict, self.names([job.id for job in step.jobs]), jobs, refused, cancelled


@dataclass(frozen=True)
class Enqueue:
    job: NewJob

    async def play(self, world: World) -> Answer:
        made = await world.backend.queue.enqueue(self.job)
        if made.created:
            world.jobs.append(made.id)
        return world.jobs.index(made.id), made.created


@dataclass(frozen=True)
class TakeStep:
    runner: int
    want: int
    acks: tuple[int, ...]

    async def play(self, world: World) -> Answer:
        done = [Finished(job) for job in chosen(world, self.runner, self.acks)]
        return world.told(self.runner, await world.runners[self.runner].step(self.want, done))


@dataclass(frozen=True)
class GiveUp:
    runner: int
    acks: tuple[int, ...]
    retry_in: timedelta | None
    back: bool

    async def play(self, world: World) -> Answer:
        runner, jobs = world.runners[self.runner], chosen(world, self.runner, self.acks)
        if self.back:
            return sorted(world.names(await runner.hand_back(jobs)))
        return sorted(world.names(await runner.fail([Failed(job, "boom", self.retry_in) for job in jobs])))


@dataclass(frozen=True)
class Cancel:
    job: int

    async def play(self, world: World) -> Answer:
        return await world.backend.queue.cancel(world.jobs[self.job % len(world.jobs)])


@dataclass(frozen=True)
class OfRunner:
    what: Upset | Literal["register"]
    runner: int

    async def play(self, world: World) -> Answer:
        runner = world.runners[self.runner]
        match self.what:
            case "beat":
                beat = await runner.heartbeat()
                return beat.verdict, sorted(world.names(beat.cancelled))
            case "drain":
                return await runner.drain()
            case "leave":
                return await runner.deregister()
            case "expire":
                await world.backend.expire_lease(runner)
            case "register":
                world.runners[self.runner] = await world.backend.register(f"r{self.runner}", lease=LEASE)
                return world.runners[self.runner].draining
            case "taint" | "untaint":
                await world.backend.taint(runner, "slow:PreferNoClaim" if self.what == "taint" else "")
        return None


@dataclass(frozen=True)
class OfAll:
    what: Literal["tick", "pass time", "pause", "resume", "redrive", "purge"]

    async def play(self, world: World) -> Answer:
        match self.what:
            case "tick":
                await world.backend.tick()
            case "pass time":
                await world.backend.pass_time(timedelta(seconds=10))
            case "pause":
                await world.backend.queue.pause()
            case "resume":
                await world.backend.queue.resume()
            case "redrive":
                return world.names(await world.backend.queue.redrive(world.jobs))
            case "purge":
                return sorted(world.names(await world.backend.queue.purge(world.jobs)))
        return None


Move: TypeAlias = Enqueue | TakeStep | GiveUp | Cancel | OfRunner | OfAll


def chosen(world: World, runner: int, picks: tuple[int, ...]) -> list[Claimed]:
    """Claims to write about: mostly the runner's own, sometimes stale or another's."""
    own = [job for holder, job in world.claims if holder == runner][-3:]
    pool = own + [job for _, job in world.claims]
    found = {pool[pick % len(pool)].id: pool[pick % len(pool)] for pick in picks} if pool else {}
    return list(found.values())


def spans(*seconds: int | None) -> st.SearchStrategy[timedelta | None]:
    return st.sampled_from([None if each is None else timedelta(seconds=each) for each in seconds])


runners = st.integers(0, RUNNERS - 1)
picks = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)
keys = st.sampled_from([(None, None)] * 3 + [("a", None), ("a", None), ("a", 2), ("b", 1)])
new_jobs = st.builds(
    lambda key, **rest: NewJob(kind="mail", key=key[0], key_limit=key[1], **rest),
    key=keys,
    payload=st.integers(0, 9),
    priority=st.sampled_from([5, 5, 5, 9]),
    dedupe=st.sampled_from([None] * 4 + ["x"]),
    delay=spans(None, None, None, 15),
    expires_in=spans(None, None, None, 25),
    max_tries=st.integers(1, 3),
    max_losses=st.integers(0, 2),
)
enqueues = st.builds(Enqueue, new_jobs)
writes = st.one_of(
    st.builds(TakeStep, runners, st.integers(0, 3), picks),
    st.builds(GiveUp, runners, picks, spans(None, 0, 15), st.just(value=False)),
    st.builds(GiveUp, runners, picks, spans(None), st.just(value=True)),
)
upsets = st.one_of(
    st.builds(Cancel, st.integers(0, 9)),
    st.builds(OfRunner, st.just("expire"), runners),
    st.builds(OfRunner, st.sampled_from(get_args(Upset)), runners),
    st.builds(OfAll, st.sampled_from(["tick", "pass time", "pause", "purge"])),
    st.builds(OfAll, st.just("pass time")),
)
remedies = st.one_of(
    st.builds(OfRunner, st.just("register"), runners), st.builds(OfAll, st.sampled_from(["resume", "redrive"]))
)
claims = st.builds(TakeStep, runners, st.integers(1, 3), st.just(()))
rounds = st.tuples(enqueues, claims, writes, enqueues, claims, upsets, writes, remedies)
"""One of each, so that a short history gets somewhere; Hypothesis chooses what each is."""
histories = st.lists(rounds, min_size=2, max_size=5).map(lambda found: [move for each in found for move in each])


async def play(world: World, move: Move) -> Answer:
    """Make a move; what it answered, and where every job is then."""
    if isinstance(world.backend, SqlBackend):
        await world.backend.queue.database.value(DUE)  # the double's housekeeping is always due
    answer = await move.play(world)
    return answer, await world.backend.states_of(world.jobs)


@pytest.mark.timeout(400)  # 10 s; after a disagreement Hypothesis takes up to 300 s to find a shorter one
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=histories)
async def test_the_double_and_the_database_agree_on_every_move(migrated: str, history: list[Move]) -> None:
    async with transactional_queue(migrated, "builds") as queue:
        await queue.connection.execute(FIXED_PLANS)
        began = time.monotonic()
        worlds = World(MemoryBackend()), World(SqlBackend(queue))
        for world in worlds:
            for number in range(RUNNERS):
                world.runners.append(await world.backend.register(f"r{number}", lease=LEASE))
        for place, move in enumerate(history):
            memory, sql = [await play(world, move) for world in worlds]
            assume(time.monotonic() - began < SLACK)
            assert memory == sql, f"move {place} of {len(history)}: {move}"
