"""Providers as they are opened: late, once, each in a task of its own, and closed the other way round."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar

import pytest

from paceline.context import Context
from paceline.errors import InvalidInputError, PacelineError
from paceline.handlers import Jobs
from paceline.scope import Scope


class Pool: ...


class Session:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool


class Cache: ...


class Settings: ...


asking: ContextVar[str] = ContextVar("asking", default="nobody")


async def test_each_is_opened_when_it_is_needed_and_closed_the_other_way_round() -> None:
    jobs, seen = Jobs(), list[str]()

    @jobs.provider
    async def session(pool: Pool, *, settings: Settings) -> AsyncIterator[Session]:
        seen.append("open session")
        yield Session(pool)
        seen.append("close session")

    @jobs.provider
    def pool() -> Iterator[Pool]:
        seen.append("open pool")
        yield Pool()
        seen.append("close pool")

    @jobs.provider
    async def settings() -> Settings:
        seen.append("open settings")
        return Settings()

    @jobs.provider
    def cache() -> Cache:
        seen.append("open cache")
        return Cache()

    async with Scope(jobs) as scope:
        assert seen == []
        found = await scope.get(Session)
        assert isinstance(found, Session)
        assert found.pool is await scope.get(Pool)
        assert await scope.get(Session) is found
        assert seen == ["open pool", "open settings", "open session"]
        await scope.get(Cache)
    assert seen[3:] == ["open cache", "close session", "close pool"]


async def test_all_who_ask_at_once_get_the_same_object() -> None:
    jobs, started, go, opened = Jobs(), asyncio.Event(), asyncio.Event(), list[Pool]()

    @jobs.provider
    async def pool() -> Pool:
        started.set()
        await go.wait()
        opened.append(Pool())
        return opened[-1]

    async with Scope(jobs) as scope, asyncio.TaskGroup() as group:
        asked = [group.create_task(scope.get(Pool)) for _ in range(10)]
        await started.wait()
        go.set()
    assert [task.result() for task in asked] == opened * 10


async def test_an_error_fails_those_who_asked_and_is_not_kept() -> None:
    jobs, tries = Jobs(), list[int]()

    @jobs.provider
    async def pool() -> Pool:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the database is away")
        return Pool()

    @jobs.provider
    async def session(pool: Pool) -> Session:
        return Session(pool)

    async with Scope(jobs) as scope:
        answers = await asyncio.gather(scope.get(Session), scope.get(Pool), return_exceptions=True)
        assert [str(answer) for answer in answers] == ["the database is away"] * 2
        assert isinstance(answers[0], OSError)
        assert "while opening the provider " in answers[0].__notes__[0]
        assert ".<locals>.pool (line " in answers[0].__notes__[0]
        assert isinstance(await scope.get(Session), Session)
    assert len(tries) == 2


async def test_one_who_stops_waiting_takes_it_from_nobody() -> None:
    jobs, started, go = Jobs(), asyncio.Event(), asyncio.Event()

    @jobs.provider
    async def pool() -> Pool:
        assert not started.is_set(), "opened twice"
        started.set()
        await go.wait()
        return Pool()

    async with Scope(jobs) as scope:
        first, second = (asyncio.create_task(scope.get(Pool)) for _ in range(2))
        await started.wait()
        first.cancel()
        go.set()
        assert isinstance(await second, Pool)
        assert first.cancelled()


async def test_it_is_opened_and_closed_in_one_task_that_sees_no_job() -> None:
    jobs, seen = Jobs(), list[object]()

    @jobs.provider
    async def pool() -> AsyncIterator[Pool]:
        seen.extend([asyncio.current_task(), asking.get()])
        yield Pool()
        seen.extend([asyncio.current_task(), asking.get()])

    async def ask(scope: Scope) -> None:
        asking.set("job 7")
        await scope.get(Pool)

    async with Scope(jobs) as scope:
        await asyncio.create_task(ask(scope))
    assert seen[:2] == seen[2:]
    assert seen[1] == "nobody"
    assert seen[0] is not asyncio.current_task()


async def test_one_that_ends_by_itself_is_told_and_opened_again(caplog: pytest.LogCaptureFixture) -> None:
    jobs, die, opened = Jobs(), asyncio.Event(), list[Pool]()

    async def connection() -> None:
        await die.wait()
        raise OSError("connection lost")

    @jobs.provider
    async def pool() -> AsyncIterator[Pool]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(connection()) if not opened else None
            opened.append(Pool())
            yield opened[-1]
            if task:
                task.cancel()

    async with Scope(jobs) as scope:
        first = await scope.get(Pool)
        (kept,) = scope.kept.values()
        die.set()
        await asyncio.wait([kept.task])
        assert await scope.get(Pool) is not first
    (record,) = caplog.records
    assert (record.levelno, "pool (line " in record.message) == (logging.ERROR, True)
    assert record.message.endswith("ended by itself")
    assert record.exc_info is not None


async def test_an_opening_that_is_cancelled_from_inside_is_no_cancel_of_the_job() -> None:
    jobs = Jobs()

    @jobs.provider
    async def pool() -> Pool:
        raise asyncio.CancelledError

    async with Scope(jobs) as scope:
        with pytest.raises(PacelineError, match=r"the provider .*pool \(line \d+\) was broken off while it opened"):
            await scope.get(Pool)


async def test_an_opening_that_calls_exit_ends_the_attempt_and_not_the_process() -> None:
    jobs = Jobs()

    @jobs.provider
    def pool() -> Pool:
        sys.exit("no settings")

    async with Scope(jobs) as scope:
        with pytest.raises(PacelineError, match=r"pool \(line \d+\) called sys.exit\(no settings\)"):
            await scope.get(Pool)


async def test_a_registry_that_cannot_be_run_is_refused_at_the_start() -> None:
    jobs = Jobs()

    @jobs.handler("mail")
    def mail(payload: object, context: Context, pool: Pool) -> None: ...

    with pytest.raises(InvalidInputError, match="that nobody fills"):
        async with Scope(jobs):
            pass
