"""The end of what providers have opened: everything is closed, and what went wrong is told."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from paceline.errors import PacelineError
from paceline.handlers import Jobs
from paceline.scope import Scope


class Pool: ...


class Cache: ...


async def test_one_that_cannot_be_closed_keeps_no_other_open() -> None:
    jobs, seen = Jobs(), list[str]()

    @jobs.provider
    def pool() -> Iterator[Pool]:
        yield Pool()
        seen.append("close pool")

    @jobs.provider
    def cache(pool: Pool) -> Iterator[Cache]:
        yield Cache()
        raise OSError("disk full")

    scope = Scope(jobs)
    with pytest.raises(OSError, match="disk full") as caught:
        async with scope:
            await scope.get(Cache)
    assert caught.value.__notes__[0].startswith("while closing the provider ")
    assert seen == ["close pool"]


async def test_many_that_cannot_be_closed_are_all_told() -> None:
    jobs = Jobs()

    @jobs.provider
    def pool() -> Iterator[Pool]:
        yield Pool()
        raise OSError("first")

    @jobs.provider
    async def cache(pool: Pool) -> AsyncIterator[Cache]:
        yield Cache()
        yield Cache()

    scope = Scope(jobs)
    with pytest.raises(ExceptionGroup, match="providers failed when they were closed") as caught:
        async with scope:
            await scope.get(Cache)
    assert [str(error) for error in caught.value.exceptions] == ["generator didn't stop", "first"]


@pytest.mark.parametrize("stubborn", [False, True], ids=["plain", "stubborn"])
async def test_one_that_is_still_opening_at_the_end_is_broken_off(stubborn: bool) -> None:
    jobs, started, seen = Jobs(), asyncio.Event(), list[str]()

    @jobs.provider
    async def pool() -> AsyncIterator[Pool]:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("broken off")
            if not stubborn:
                raise
        yield Pool()
        seen.append("closed")

    async with Scope(jobs) as scope:
        task = asyncio.create_task(scope.get(Pool))
        await started.wait()
        task.cancel()
    assert seen == (["broken off", "closed"] if stubborn else ["broken off"])


async def test_nothing_is_opened_after_the_end() -> None:
    jobs = Jobs()

    @jobs.provider
    def pool() -> Pool:
        return Pool()

    async with Scope(jobs) as scope:
        pass
    with pytest.raises(PacelineError, match=r"Pool is asked for after the end \(keep the Scope open\)"):
        await scope.get(Pool)
