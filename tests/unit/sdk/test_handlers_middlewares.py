"""What stands around every Python handler of a registry."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

import pytest

from paceline.context import Context, JobInfo, Next
from paceline.errors import InvalidInputError
from paceline.handlers import Jobs
from paceline.invoke import InThread, Scope, invoke
from paceline.job import Claimed, Fence, JobId

CONTEXT = cast("Context", object())
JOB = Claimed(JobId(7), Fence(3), "mail", '"x"', 5, 1, 2, None, "00-trace", 0.25)
user: ContextVar[str] = ContextVar("user", default="nobody")


async def run(jobs: Jobs, in_thread: InThread | None = None) -> object:
    async with Scope(jobs) as scope:
        return await invoke(scope, jobs.get("mail"), JOB, CONTEXT, in_thread=in_thread)


async def in_thread(call: Callable[[], object]) -> object:
    return await asyncio.to_thread(call)


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


async def test_the_first_middleware_is_the_outermost_and_each_may_replace_the_result(jobs: Jobs) -> None:
    seen = list[str]()

    def around(name: str) -> Callable[[Next, JobInfo], Awaitable[object]]:
        async def middleware(call: Next, job: JobInfo) -> object:
            seen.append(f"{name} before")
            result = await call()
            seen.append(f"{name} after")
            return f"{name}({result})"

        return middleware

    @jobs.handler("mail")
    async def mail(payload: str) -> str:
        seen.append("mail")
        return payload

    assert [jobs.middleware(around(name)).__name__ for name in ("a", "b")] == ["middleware", "middleware"]
    assert await run(jobs) == "a(b(x))"
    assert seen == ["a before", "b before", "mail", "b after", "a after"]


async def test_a_middleware_sees_the_job_and_cannot_change_it(jobs: Jobs) -> None:
    @jobs.middleware
    async def look(call: Next, job: JobInfo) -> object:
        with pytest.raises(AttributeError):
            job.tries = 0  # type: ignore[misc]
        return (
            *(job.id, job.fence, job.kind, job.body, job.priority),
            *(job.tries, job.losses, job.trace, job.waited),
        )

    @jobs.handler("mail")
    async def mail(payload: str) -> None:
        pytest.fail("a middleware that does not go on keeps the handler from running")

    assert await run(jobs) == (7, 3, "mail", '"x"', 5, 1, 2, "00-trace", 0.25)


@pytest.mark.parametrize("thread", [in_thread, None])
async def test_a_middleware_may_set_a_context_variable_for_the_handler(jobs: Jobs, thread: InThread | None) -> None:
    @jobs.middleware
    async def as_user(call: Next, job: JobInfo) -> object:
        token = user.set("ann")
        try:
            return await call()
        finally:
            user.reset(token)

    @jobs.handler("mail")
    def mail(payload: str) -> str:
        return user.get()

    assert await run(jobs, in_thread=thread) == "ann"
    assert user.get() == "nobody"


async def test_a_middleware_may_catch_and_raise_and_go_on_twice(jobs: Jobs) -> None:
    calls = list[str]()

    @jobs.middleware
    async def again(call: Next, job: JobInfo) -> object:
        try:
            return await call()
        except KeyError:
            return await call()

    @jobs.handler("mail")
    def mail(payload: str) -> None:
        calls.append(payload)
        raise (KeyError, ValueError)[len(calls) - 1](payload)

    with pytest.raises(ValueError, match="x"):
        await run(jobs)
    assert calls == ["x", "x"]


async def test_a_middleware_that_comes_late_is_not_forgotten(jobs: Jobs) -> None:
    @jobs.handler("mail")
    async def mail(payload: str) -> str:
        return payload

    async with Scope(jobs) as scope:
        assert await invoke(scope, jobs.get("mail"), JOB, CONTEXT) == "x"

        @jobs.middleware
        async def late(call: Next, job: JobInfo) -> object:
            return f"late {await call()}"

        assert await invoke(scope, jobs.get("mail"), JOB, CONTEXT) == "late x"


def plain(call: Next, job: JobInfo) -> object: ...
async def one(call: Next) -> object: ...
async def three(call: Next, job: JobInfo, other: int) -> object: ...


@pytest.mark.parametrize(
    ("middleware", "words"),
    [
        (plain, r"plain \(line \d+\) must be an async function \(write async def\)"),
        (one, r"one \(line \d+\) must take two parameters \(write them like call: Next, job: JobInfo\)"),
        (three, r"three \(line \d+\) must take two parameters"),
    ],
)
def test_what_cannot_be_a_middleware_is_refused_by_name(middleware: Any, words: str) -> None:
    jobs = Jobs()
    with pytest.raises(InvalidInputError, match=rf"the middleware {__name__}\.{words}"):
        jobs.middleware(middleware)
    assert jobs.middlewares == []
