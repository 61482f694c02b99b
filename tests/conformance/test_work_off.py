"""Handlers run inline on the jobs of the queue in memory."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from pydantic import JsonValue

from paceline.context import Context, JobInfo, Next
from paceline.errors import InvalidInputError, PacelineError
from paceline.handlers import Jobs
from paceline.job import NewJob
from paceline.retry import Fixed, Never
from paceline.testing import ManualClock, MemoryQueue, NotInMemoryError
from paceline.testing.work_off import work_off

MINUTE = timedelta(minutes=1)


@dataclass
class Mail:
    to: str


async def test_every_ready_job_is_run_and_those_that_they_enqueue() -> None:
    queue, jobs, sent = MemoryQueue(), Jobs(), list[str]()

    @jobs.handler("signup")
    async def signup(name: str) -> None:
        await queue.enqueue(jobs.job("mail", Mail(to=name), tags=("smtp",), key="mails"))

    @jobs.handler("mail")
    def mail(mail: Mail) -> dict[str, int]:
        sent.append(mail.to)
        return {"sent": len(sent)}

    made = await queue.enqueue_many([jobs.job("signup", "ann"), jobs.job("signup", "bob")])
    summary = await queue.work_off(jobs)
    assert sent == ["ann", "bob"]
    assert len(summary.done) == 4
    assert set(summary.done) >= {each.id for each in made}
    assert (summary.failed, summary.dead, summary.cancelled, summary.left) == ((), (), (), ())
    assert [job.result for job in queue.jobs() if job.kind == "mail"] == [{"sent": 1}, {"sent": 2}]


async def test_a_failed_job_is_tried_again_when_its_time_has_come() -> None:
    clock = ManualClock()
    queue, jobs, tries = MemoryQueue(clock=clock), Jobs(), list[int]()

    @jobs.handler("mail", retry=Fixed(MINUTE))
    def mail(payload: object, context: Context) -> None:
        tries.append(context.tries)
        raise OSError("the server is away")

    made = await queue.enqueue(NewJob(kind="mail", max_tries=2))
    assert (await queue.work_off(jobs)).failed == (made.id,)
    assert (await queue.work_off(jobs)).failed == (), "it waits"
    clock.advance(MINUTE)
    assert (await queue.work_off(jobs)).dead == (made.id,)
    dead = queue.job(made.id)
    assert dead is not None
    assert (dead.cause, dead.tries) == ("Failed", 2)
    assert str(dead.error).startswith("OSError: the server is away\nTraceback")
    assert tries == [0, 1]


async def test_a_policy_that_gives_up_makes_a_dead_letter_at_once() -> None:
    queue, jobs = MemoryQueue(), Jobs()

    @jobs.handler("mail", retry=Never())
    async def mail(payload: object) -> None:
        raise KeyError("x")

    made = await queue.enqueue("mail")
    assert (await queue.work_off(jobs)).dead == (made.id,)
    (dead,) = queue.jobs("dead")
    assert str(dead.error).endswith("\nNot tried again: this kind is never retried")


async def test_a_payload_or_a_result_that_does_not_fit_is_not_tried_again() -> None:
    queue, jobs = MemoryQueue(), Jobs()

    @jobs.handler("mail")
    def mail(mail: Mail) -> object:
        return object()

    bad = await queue.enqueue("mail", {"from": "x"})
    fine = await queue.enqueue("mail", {"to": "x"})
    assert (await queue.work_off(jobs)).dead == (bad.id, fine.id)
    errors = [job.error for job in queue.jobs("dead")]
    assert 'payload of "mail" does not fit: to: ' in str(errors[0])
    assert 'result of "mail" cannot be written as JSON' in str(errors[1])


async def test_a_handler_sees_its_context() -> None:
    queue, jobs, seen = MemoryQueue(), Jobs(), list[object]()

    @jobs.handler("mail", retry=Fixed(MINUTE))
    async def mail(payload: int, context: Context) -> None:
        seen.extend([context.job_id, context.should_stop, context.log.name])
        context.progress({"percent": 50})
        context.extend(MINUTE)
        assert context.fence == 1
        assert await queue.cancel(context.job_id) == "cancelling"
        seen.append(context.should_stop)
        raise InterruptedError

    made = await queue.enqueue("mail", 7)
    summary = await queue.work_off(jobs)
    assert seen == [made.id, False, "paceline.jobs.mail", True]
    assert (summary.cancelled, summary.failed) == ((made.id,), ())
    (job,) = queue.jobs("cancelled")
    assert job.progress == {"percent": 50}


async def test_what_nobody_handles_is_left_and_told() -> None:
    queue, jobs = MemoryQueue(), Jobs()

    @jobs.handler("mail")
    def mail(payload: object) -> None: ...

    other = await queue.enqueue("other")
    await queue.enqueue("mail")
    summary = await queue.work_off(jobs)
    assert (len(summary.done), summary.left) == (1, (other.id,))
    await queue.pause()
    paused = await queue.enqueue("mail")
    assert (await queue.work_off(jobs)).left == (other.id, paused.id)


async def test_a_handler_that_enqueues_itself_for_ever_is_stopped() -> None:
    queue, jobs = MemoryQueue(), Jobs()

    @jobs.handler("loop")
    async def loop(payload: object) -> None:
        await queue.enqueue("loop")

    await queue.enqueue("loop")
    with pytest.raises(PacelineError, match="20 jobs have run and more may be ready"):
        await queue.work_off(jobs, most=20)


async def test_a_handler_may_move_the_clock_past_any_lease() -> None:
    clock = ManualClock()
    queue, jobs = MemoryQueue(clock=clock), Jobs()

    @jobs.handler("slow")
    async def slow(payload: object) -> None:
        clock.advance(timedelta(days=1))
        await queue.tick()

    made = await queue.enqueue("slow")
    assert (await queue.work_off(jobs)).done == (made.id,)


async def test_a_test_that_is_broken_off_gives_its_job_back() -> None:
    queue, jobs, started = MemoryQueue(), Jobs(), asyncio.Event()

    @jobs.handler("endless")
    async def endless(payload: object) -> None:
        started.set()
        await asyncio.Event().wait()

    made = await queue.enqueue("endless")
    task = asyncio.create_task(queue.work_off(jobs))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert queue.state_of(made.id) == "ready"


class Server: ...


async def test_middlewares_and_providers_are_used_and_closed_with_the_call() -> None:
    queue, jobs, seen = MemoryQueue(), Jobs(), list[object]()

    @jobs.middleware
    async def count(call: Next, job: JobInfo) -> object:
        seen.append(job.id)
        return await call()

    @jobs.provider
    async def server() -> AsyncIterator[Server]:
        seen.append("open")
        yield Server()
        seen.append("close")

    @jobs.handler("mail")
    def mail(payload: object, server: Server) -> None:
        assert isinstance(server, Server)

    for _ in range(2):
        seen.clear()
        made = await queue.enqueue_many([NewJob(kind="mail")] * 2)
        assert len((await queue.work_off(jobs)).done) == 2
        assert seen == ["open", made[0].id, made[1].id, "close"]


async def test_a_provider_that_cannot_be_opened_fails_the_try() -> None:
    queue, jobs = MemoryQueue(), Jobs()

    @jobs.provider
    async def server() -> Server:
        raise OSError("the server is away")

    @jobs.handler("mail", retry=Fixed(MINUTE))
    async def mail(payload: object, server: Server) -> None: ...

    made = await queue.enqueue("mail")
    assert (await queue.work_off(jobs)).failed == (made.id,)


async def test_a_registry_that_cannot_be_run_is_refused_before_anything_runs() -> None:
    queue, jobs = MemoryQueue(), Jobs()

    @jobs.handler("mail")
    async def mail(payload: object, server: Server) -> None: ...

    made = await queue.enqueue("mail")
    with pytest.raises(InvalidInputError, match='has a parameter "server: '):
        await queue.work_off(jobs)
    assert queue.state_of(made.id) == "ready"


async def test_a_command_is_not_run_in_memory_and_its_job_stays() -> None:
    queue, jobs = MemoryQueue(), Jobs()
    jobs.command("thumb", ["convert", "-"])
    assert (await queue.work_off(jobs)).left == (), "one that nobody needs is in nobody's way"
    made = await queue.enqueue("thumb")
    with pytest.raises(
        NotInMemoryError, match=r'^"thumb", command "convert -" \(say what it answers: outside=\{"thumb"'
    ):
        await queue.work_off(jobs)
    assert queue.state_of(made.id) == "ready"


async def test_a_function_may_stand_in_for_what_is_outside() -> None:
    queue, jobs = MemoryQueue(), Jobs()
    jobs.command("thumb", ["convert", "-"], retry=Never())
    jobs.http("mail", "http://localhost:9000/")

    def thumb(payload: JsonValue) -> None:
        raise OSError(f"cannot read {payload}")

    async def mail(payload: JsonValue) -> JsonValue:
        return {"sent": payload}

    bad, good = await queue.enqueue("thumb", "a.png"), await queue.enqueue("mail", "ann")
    summary = await work_off(queue, jobs, outside={"thumb": thumb, "mail": mail})
    assert (summary.dead, summary.done) == ((bad.id,), (good.id,))
    assert [job.result for job in queue.jobs("done")] == [{"sent": "ann"}]
    assert [str(job.error).partition("\n")[0] for job in queue.jobs("dead")] == ["OSError: cannot read a.png"]
