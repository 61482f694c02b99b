"""The one way to run a handler: its payload, what fills its parameters, and what stands around it."""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Annotated, Any, cast

import pytest

from paceline.context import Context, JobInfo, Next
from paceline.errors import InvalidInputError
from paceline.handlers import Jobs
from paceline.invoke import BadPayloadError, InThread, Scope, invoke
from paceline.job import Claimed, Fence, JobId

CONTEXT = cast("Context", object())
DEFAULT = cast("Context", object())


class Pool: ...


class Cache: ...


def claimed(kind: str = "mail", body: str = '"x"') -> Claimed:
    return Claimed(JobId(7), Fence(3), kind, body, 5, 1, 2, None, "00-trace", 0.25)


async def run(jobs: Jobs, body: str = '"x"', in_thread: InThread | None = None) -> object:
    async with Scope(jobs) as scope:
        return await invoke(scope, jobs.get("mail"), claimed(body=body), CONTEXT, in_thread=in_thread)


async def in_thread(call: Callable[[], object]) -> object:
    return await asyncio.to_thread(call)


@pytest.fixture
def jobs() -> Jobs:
    jobs = Jobs()

    @jobs.provider
    async def pool() -> Pool:
        return Pool()

    return jobs


async def test_an_async_function_runs_in_the_loop_and_a_sync_one_in_the_thread(jobs: Jobs) -> None:
    here = threading.get_ident()

    @jobs.handler("mail")
    async def soon(payload: str) -> tuple[str, bool]:
        return payload, threading.get_ident() == here

    other = Jobs()

    @other.handler("mail")
    def now(payload: str) -> tuple[str, bool]:
        return payload, threading.get_ident() == here

    assert await run(jobs, in_thread=in_thread) == ("x", True)
    assert await run(other, in_thread=in_thread) == ("x", False)
    assert await run(other) == ("x", True)


async def test_a_payload_that_does_not_fit_is_told_apart_from_what_a_handler_raises(jobs: Jobs) -> None:
    ran = list[object]()

    @jobs.middleware
    async def around(call: Next, job: JobInfo) -> object:
        ran.append(job)
        return await call()

    @jobs.handler("mail")
    async def mail(payload: int) -> None:
        jobs.job("mail", "no number")

    with pytest.raises(BadPayloadError, match='payload of "mail" does not fit: it: Input should be a valid integer'):
        await run(jobs, '"x"')
    assert ran == [], "nothing runs for a payload that does not fit"
    with pytest.raises(InvalidInputError, match='payload of "mail" does not fit') as caught:
        await run(jobs, "5")
    assert not isinstance(caught.value, BadPayloadError)


def second(payload: str, given: Context) -> object:
    return given


def by_name(payload: str, *, given: Context) -> object:
    return given


def last(payload: str, pool: Pool, cache: Cache | None = None, given: Context | None = None, *, c: Context) -> object:
    assert isinstance(pool, Pool)
    assert (cache, given) == (None, None)
    return c


def by_position(payload: str, pool: Pool, given: Context, /) -> object:
    assert isinstance(pool, Pool)
    return given


def after_a_gap(payload: str, size: int = 3, given: Context = DEFAULT, *rest: int, **more: int) -> object:
    assert (size, rest, more) == (3, (), {})
    return given


@functools.wraps(second)
def decorated(*args: Any) -> object:
    return second(*args)


@pytest.mark.parametrize("call", [second, by_name, last, by_position, after_a_gap, decorated])
async def test_a_parameter_is_filled_by_its_type_wherever_it_stands(jobs: Jobs, call: Callable[..., object]) -> None:
    jobs.handler("mail")(call)
    assert jobs.get("mail").wants_context
    assert await run(jobs) is CONTEXT


async def test_a_parameter_that_cannot_be_reached_keeps_its_default(jobs: Jobs) -> None:
    @jobs.handler("mail")
    async def mail(payload: str, size: int = 3, given: Context = DEFAULT, /, **more: int) -> object:
        assert (size, more) == (3, {})
        return given

    assert await run(jobs) is DEFAULT


async def test_an_annotation_that_nobody_can_look_up_is_left_alone(jobs: Jobs) -> None:
    @jobs.handler("mail")
    async def mail(payload: str, wait: Annotated[int, {"unit": "s"}] = 3) -> int:
        return wait

    assert await run(jobs) == 3


async def test_what_is_provided_goes_before_a_default(jobs: Jobs) -> None:
    nothing = Pool()

    @jobs.handler("mail")
    async def mail(payload: str, pool: Pool = nothing) -> bool:
        return pool is nothing

    assert await run(jobs) is False


async def test_a_sync_function_gets_what_was_opened_in_the_loop(jobs: Jobs) -> None:
    opened = list[object]()

    @jobs.provider
    async def cache() -> Cache:
        opened.append(asyncio.get_running_loop())
        return Cache()

    @jobs.handler("mail")
    def mail(payload: str, cache: Cache) -> Cache:
        return cache

    assert isinstance(await run(jobs, in_thread=in_thread), Cache)
    assert opened == [asyncio.get_running_loop()]


async def test_an_async_function_behind_a_sync_decorator_is_awaited(jobs: Jobs) -> None:
    async def mail(payload: str) -> str:
        return payload

    jobs.handler("mail")(functools.wraps(mail)(lambda payload: mail(payload)))
    assert await run(jobs, in_thread=in_thread) == "x"


async def test_a_stop_iteration_does_not_hang_the_attempt(jobs: Jobs) -> None:
    @jobs.handler("mail")
    def mail(payload: str) -> None:
        next(iter(()))

    with pytest.raises(RuntimeError, match="the handler raised StopIteration"):
        await asyncio.wait_for(run(jobs, in_thread=in_thread), 40)
