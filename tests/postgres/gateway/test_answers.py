"""Many wait for many jobs over one connection; also where nobody tells, and while the connection is cut."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from paceline.answers import Answers
from paceline.claims import Failed, Finished
from paceline.database import Database
from paceline.job import JobId, NewJob
from paceline.line import Line, Lines
from paceline.queue import Queue
from paceline.testing import PostgresServer
from support.bouncer import BouncedServer
from support.pg import Connect, Register

CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND query LIKE 'SELECT pg_notify(%'"""


@pytest.fixture
async def answers(database: Database, migrated: str) -> AsyncIterator[Answers]:
    """Where the server is behind PgBouncer it hears nothing, and looks twice a second."""
    made = Answers(database, Lines(migrated))
    async with made.running():
        yield made


@pytest.fixture
async def hearing(database: Database, migrated: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Answers]:
    """One that is told of ends, and looks by itself but once an hour."""
    monkeypatch.setattr("paceline.answers.HEARING_SECONDS", 3600)
    made = Answers(database, Lines(migrated))
    async with made.running():
        await hears(made, True)
        yield made


async def jobs_of(queue: Queue, number: int) -> list[JobId]:
    return [made.id for made in await queue.enqueue_many([NewJob(kind="mail")] * number)]


async def marked(queue: Queue, jobs: list[JobId]) -> None:
    """Wait until somebody waits for them."""
    unmarked = "SELECT count(*) FROM paceline.job WHERE id = ANY ($1) AND awaited IS NULL"
    while await queue.database.value(unmarked, jobs):  # noqa: ASYNC110 -- the database does not say when
        await asyncio.sleep(0.01)


async def hears(answers: Answers, whether: bool) -> None:
    """Wait until it is told of ends, or is not."""
    while answers.hearing is not whether:  # noqa: ASYNC110 -- it connects, or finds out that it has lost
        await asyncio.sleep(0)


async def test_each_gets_the_end_of_its_own_job(answers: Answers, queue: Queue, register: Register) -> None:
    jobs = await jobs_of(queue, 4)
    waiting = [asyncio.create_task(answers.wait(job)) for job in [*jobs, jobs[0]]]
    await marked(queue, jobs)
    assert answers.waiting == 5
    runner = await register()
    first, second, _ = (await runner.step(3)).jobs
    await queue.cancel(jobs[3])
    await runner.step(0, [Finished(first, '{"n": 1}')])
    await runner.fail([Failed(second, "no")])
    ends = await asyncio.gather(waiting[0], waiting[1], waiting[3], waiting[4])
    assert [(end.state, end.result, end.cause, end.error) for end in ends] == [
        ("done", {"n": 1}, None, None), ("dead", None, "Failed", "no"), ("cancelled", None, None, None),
        ("done", {"n": 1}, None, None),
    ]  # fmt: skip
    waiting[2].cancel()
    await asyncio.gather(waiting[2], return_exceptions=True)
    assert answers.waiting == 0


@pytest.mark.needs_session("LISTEN gives neither a message nor an error there")
async def test_a_job_that_has_ended_before_is_answered_at_once(hearing: Answers, queue: Queue) -> None:
    (job,) = await jobs_of(queue, 1)
    await queue.cancel(job)
    async with asyncio.timeout(30):
        assert (await hearing.wait(job)).state == "cancelled"


async def test_whether_ends_are_told_is_known(answers: Answers, queue: Queue, postgres: PostgresServer) -> None:
    (job,) = await jobs_of(queue, 1)
    await queue.cancel(job)
    await answers.wait(job)
    await hears(answers, not isinstance(postgres, BouncedServer))


@pytest.mark.needs_session("LISTEN gives neither a message nor an error there")
async def test_a_job_that_somebody_was_writing_about_is_marked_later(
    hearing: Answers, queue: Queue, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, look = asyncio.Event(), Answers._answer

    async def answer(self: Answers, jobs: list[JobId]) -> None:
        await look(self, jobs)
        looked.set()

    monkeypatch.setattr(Answers, "_answer", answer)
    (job,) = await jobs_of(queue, 1)
    writer = await connect()
    await writer.execute("BEGIN")
    await writer.fetch("SELECT FROM paceline.job WHERE id = $1 FOR UPDATE", job)
    waiting = asyncio.create_task(hearing.wait(job))
    await looked.wait()
    await writer.execute("COMMIT")
    async with asyncio.timeout(30):
        await marked(queue, [job])
        await queue.cancel(job)
        assert (await waiting).state == "cancelled"


@pytest.mark.needs_session("LISTEN gives neither a message nor an error there")
async def test_what_ended_while_the_connection_was_cut_is_found(
    hearing: Answers, queue: Queue, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline.answers.DEAF_SECONDS", 3600)
    jobs = await jobs_of(queue, 2)
    waiting = [asyncio.create_task(hearing.wait(job)) for job in jobs]
    await marked(queue, jobs)
    cutter = await connect()
    assert await cutter.fetch(CUT)
    await hears(hearing, False)
    await queue.cancel(jobs[0])
    async with asyncio.timeout(30):
        assert (await waiting[0]).state == "cancelled"  # by the look after the reconnect: no other is due for an hour
        await queue.cancel(jobs[1])
        assert (await waiting[1]).state == "cancelled"  # and it is told again


async def test_all_are_looked_at_now_and_then_however_much_there_is_to_hear(
    answers: Answers, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One end that nobody told, while others come without a pause: their looks must not put off the look at all."""
    monkeypatch.setattr("paceline.answers.HEARING_SECONDS", 0.5)
    lost, *busy = await jobs_of(queue, 4)
    waiting = asyncio.create_task(answers.wait(lost))
    await marked(queue, [lost])
    await queue.database.value("UPDATE paceline.job SET awaited = NULL WHERE id = $1", lost)
    await queue.cancel(lost)

    async def come_and_go(job: JobId) -> None:
        while not waiting.done():
            asking = asyncio.create_task(answers.wait(job))
            await asyncio.sleep(0)
            asking.cancel()

    async with asyncio.timeout(30):
        await asyncio.gather(*map(come_and_go, busy))
    assert waiting.result().state == "cancelled"


async def end(queue: Queue, register: Register, job: JobId, result: str) -> None:
    runner = await register()
    (claimed,) = (await runner.step(1)).jobs
    assert claimed.id == job
    await runner.step(0, [Finished(claimed, result)])


async def test_a_result_that_python_cannot_hold_is_an_answer(
    answers: Answers, queue: Queue, register: Register
) -> None:
    (job,) = await jobs_of(queue, 1)
    await end(queue, register, job, "[1, 1e5000, 2]")
    async with asyncio.timeout(30):
        assert (await answers.wait(job)).result == [1, "1" + "0" * 5000, 2]


async def test_a_look_that_fails_is_not_the_last_one(
    answers: Answers, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults, look = [ZeroDivisionError("by 0")], Answers._answer

    async def answer(self: Answers, jobs: list[JobId]) -> None:
        if faults:
            raise faults.pop()
        await look(self, jobs)

    monkeypatch.setattr(Answers, "_answer", answer)
    (job,) = await jobs_of(queue, 1)
    await queue.cancel(job)
    async with asyncio.timeout(30):
        assert (await answers.wait(job)).state == "cancelled"
    assert not faults


@pytest.mark.needs_session("LISTEN gives neither a message nor an error there")
async def test_one_that_was_told_nothing_listens_again(
    database: Database, migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline.answers.DEAF_LINE_SECONDS", 0.05)
    told, hear = [False], Line.hear

    async def heard(self: Line, channel: str, told_of: Callable[[str], None]) -> bool:
        well = await hear(self, channel, told_of)
        return told.pop() if told else well

    monkeypatch.setattr(Line, "hear", heard)
    made = Answers(database, Lines(migrated))
    async with made.running(), asyncio.timeout(30):
        await hears(made, True)
    assert not told
