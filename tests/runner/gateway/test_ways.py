"""Both ways of a runner to its jobs keep the same promises: a login of its own, and a gateway."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from paceline.claims import Beat, Failed, Finished, Step
from paceline.errors import NotAllowedError
from paceline.job import Claimed, NewJob
from paceline.queue import Queue
from paceline_runner.gateway.seat import aside
from paceline_runner.ports import AWAY, Lifeline, Seat, Way
from paceline_runner.runner import way_of
from paceline_runner.settings import Gateway, Settings
from runner.gateway.door import Door, TokenOf
from runner.process import attempts, eventually, seen, until
from support.pg import logins

WAYS = ("direct", "gateway")
HOUR = timedelta(hours=1)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The keeper's, in its thread."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.run_until_complete(asyncio.sleep(0))  # what was told to close in the last round is closed in this one
    made.close()


@dataclass
class Member:
    """A runner as its dispatcher and its keeper see it."""

    way: Way
    seat: Seat
    line: Lifeline
    loop: asyncio.AbstractEventLoop
    told: list[Beat] = field(default_factory=list)

    async def take(self, count: int = 1) -> list[Claimed]:
        """Step until so many jobs are there."""
        jobs: list[Claimed] = []

        async def enough() -> bool:
            jobs.extend((await self.seat.step(count - len(jobs))).jobs)
            return len(jobs) == count

        await eventually(enough, f"{count} jobs are taken")
        return jobs

    async def beat(self) -> Beat:
        return await aside(self.loop, self.line.heartbeat())

    async def stepped(self, true: Callable[[Step], object]) -> None:
        async def holds() -> object:
            return true(await self.seat.step(0))

        await eventually(holds, "a step says so")


Join = Callable[..., Awaitable[Member]]


@pytest.fixture(params=WAYS)
async def join(
    request: pytest.FixtureRequest, door: Door, token: TokenOf, migrated: str, loop: asyncio.AbstractEventLoop
) -> AsyncIterator[Join]:
    async with AsyncExitStack() as stack:

        async def make(name: str = "r1", slots: int = 2) -> Member:
            if request.param == "direct":
                settings = Settings(database_url=migrated, name=name, pool="builds", slots=slots, heartbeat=1)
            else:
                gateway = Gateway(url=door.url, token=await token(name))
                settings = Settings(gateway=gateway, name="", slots=slots, heartbeat=1)
            way = way_of(settings, loop)
            stack.push_async_callback(way.close)
            await way.connect()
            assert way.runner == name
            seat, lease = await way.register(("*",))
            assert (lease, seat.pool_name, seat.draining) == (30, "builds", False)
            told: list[Beat] = []
            line = await aside(loop, way.lifeline(seat, lambda: None, told.append))
            stack.callback(loop.call_soon_threadsafe, line.close)
            return Member(way, seat, line, loop, told)

        yield make


async def test_a_job_is_taken_and_its_result_and_output_are_kept(join: Join, queue: Queue) -> None:
    made = await queue.enqueue(
        NewJob(kind="mail", payload={"to": "ä\u2028"}, timeout=timedelta(seconds=1.5), trace="t")
    )
    runner = await join()
    (job,) = await runner.take()
    assert (job.id, job.kind, job.payload, job.priority) == (made.id, "mail", {"to": "ä\u2028"}, 5)
    assert (job.timeout_ms, job.trace, job.tries, job.losses) == (1500, "t", 0, 0)
    step = await runner.seat.step(0, [Finished(job, '{"n": [1.50, null]}', "said\0 \ud800so")])
    assert (step.jobs, step.refused) == ((), frozenset())
    done = await seen(queue, made.id)
    assert (done.state, done.result, done.runner) == ("done", {"n": [1.5, None]}, "r1")
    assert [each.output for each in await attempts(queue, made.id)] == ["said\ufffd ?so"]


async def test_a_failure_is_kept_with_its_cause_and_tried_again_when_it_says(join: Join, queue: Queue) -> None:
    again, never = await queue.enqueue_many([NewJob(kind="mail")] * 2)
    runner = await join()
    one, two = await runner.take(2)
    assert not await runner.seat.fail([Failed(one, "slow", HOUR, "half")], "TimedOut")
    assert not await runner.seat.fail([Failed(two, "bad")], "BadPayload")
    assert [(await seen(queue, each.id)).state for each in (again, never)] == ["scheduled", "dead"]
    (kept,) = await attempts(queue, again.id)
    assert (kept.outcome, kept.cause, kept.error, kept.output) == ("failed", "TimedOut", "slow", "half")
    assert (await seen(queue, never.id)).cause == "BadPayload"


async def test_what_is_handed_back_is_charged_nothing_and_comes_again(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    (job,) = await runner.take()
    assert not await runner.seat.hand_back([job], "Drained")
    (again,) = await runner.take()
    assert (again.id, again.tries, again.losses, again.fence > job.fence) == (made.id, 0, 0, True)


async def test_an_attempt_tells_how_far_it_is_and_asks_for_time(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    (job,) = await runner.take()
    assert await runner.seat.progress(job, {"half": True})
    assert (await seen(queue, made.id)).progress == {"half": True}
    assert await runner.seat.extend(job, HOUR)


async def test_whatever_is_said_of_a_job_that_is_somebody_elses_is_refused(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    zombie = await join()
    (lost,) = await zombie.take()
    hand_back = "SELECT paceline.hand_back($1, ARRAY[$2::bigint], ARRAY[$3::bigint], 'Test')"
    await queue.database.value(hand_back, zombie.seat.id, made.id, lost.fence)
    other = await join("r2")
    (taken,) = await other.take()
    assert not await zombie.seat.extend(lost, HOUR)
    assert not await zombie.seat.progress(lost, 1)
    assert await zombie.seat.fail([Failed(lost, "late")]) == {made.id}
    assert await zombie.seat.hand_back([lost]) == {made.id}
    assert (await zombie.seat.step(0, [Finished(lost)])).refused == {made.id}
    assert (await seen(queue, made.id)).state == "running"
    assert not (await other.seat.step(0, [Finished(taken)])).refused


async def test_a_cancel_is_told_until_the_job_is_over(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    (job,) = await runner.take()
    await queue.cancel(made.id)
    for _ in range(2):
        await runner.stepped(lambda step: step.cancelled == {made.id})
    await runner.seat.fail([Failed(job, "cancelled")], "Cancelled")
    assert (await runner.seat.step(0)).cancelled == frozenset()
    assert (await seen(queue, made.id)).state == "cancelled"


async def test_one_that_drains_takes_nothing_and_everybody_sees_it(join: Join, queue: Queue) -> None:
    runner = await join()
    assert await runner.seat.drain() == 0
    await runner.stepped(lambda step: step.verdict == "draining")
    made = await queue.enqueue("mail")
    assert (await runner.seat.step(2)).jobs == ()
    assert (await runner.beat()).verdict == "draining"
    assert (await seen(queue, made.id)).state == "ready"


async def test_a_taint_says_that_there_is_a_hurry(join: Join, queue: Queue) -> None:
    runner = await join()
    assert (await runner.beat()).leave is False
    sql = "SELECT paceline.taint_runner(id, 'annotation', '{maint}', '{\"\"}', '{Drain}') FROM paceline.runner"
    await queue.database.value(sql)
    beat = await runner.beat()
    assert (beat.verdict, beat.leave) == ("draining", True)


async def test_what_it_has_goes_back_when_it_leaves(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    await runner.take()
    assert await runner.seat.deregister() == 1
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)


async def test_one_whose_name_is_taken_is_told_by_whom_it_ended(join: Join) -> None:
    old = await join()
    new = await join()
    beat = await old.seat.heartbeat()
    assert (beat.verdict, beat.cause) == ("fenced", "Replaced")
    assert (await new.beat()).verdict == "ok"


async def test_one_that_gives_up_for_a_stuck_loop_and_leaves_is_charged_nothing(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    await runner.take()
    await aside(runner.loop, runner.line.abandon(leaving=True))
    back = await until(queue, made.id, "ready")
    assert (back.tries, back.losses) == (0, 0)


async def test_one_that_gives_up_for_a_stuck_loop_says_so(join: Join, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    await runner.take()
    await aside(runner.loop, runner.line.abandon(leaving=False))
    back = await until(queue, made.id, "ready")
    (lost,) = await attempts(queue, made.id)
    assert (back.tries, back.losses, lost.outcome, lost.cause) == (0, 1, "lost", "HandlerStuck")
    beat = await runner.seat.heartbeat()
    assert (beat.verdict, beat.cause) == ("fenced", "HandlerStuck")


async def test_somebody_who_is_not_let_in_is_told_and_whoever_is_away_is_waited_for(
    queue: Queue, door: Door, migrated: str, loop: asyncio.AbstractEventLoop
) -> None:
    async with logins(queue.database, migrated) as login_url:
        for way in (
            way_of(Settings(gateway=Gateway(url=door.url, token="rk_0123456789ab_" + "x" * 43), name=""), loop),
            way_of(Settings(database_url=await login_url("reader"), name="r1", pool="builds"), loop),
        ):
            with pytest.raises(NotAllowedError):
                await _enter(way)
            await way.close()
    for way in (
        way_of(Settings(gateway=Gateway(url="http://127.0.0.1:1", token="rk_0123456789ab_" + "x" * 43), name=""), loop),
        way_of(Settings(database_url="postgresql://nobody@127.0.0.1:1/x", name="r1"), loop),
    ):
        with pytest.raises(AWAY):
            await way.connect()
        await way.close()


async def _enter(way: Way) -> None:
    await way.connect()
    await way.register(("*",))
