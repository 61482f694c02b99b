"""Gateways, tokens, and runners that dial them: the real command in a process that knows no database."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from paceline.queue import Queue
from paceline.tokens import Tokens
from runner.gateway.door import Dial, Door, Resume, TokenOf
from runner.process import RunnerProcess
from support.pg import logins

DEFINED = "SELECT pg_get_functiondef($1::text::regproc)"


@pytest.fixture
async def gateway_url(queue: Queue, migrated: str) -> AsyncIterator[str]:
    """A database login that may do what a gateway must, and no more."""
    async with logins(queue.database, migrated) as login_url:
        yield await login_url("gateway")


@pytest.fixture
async def door(gateway_url: str) -> AsyncIterator[Door]:
    """A gateway that is open."""
    made = Door(gateway_url)
    await made.open()
    yield made
    await made.shut()


@pytest.fixture
async def short_lease(queue: Queue) -> None:
    """A gateway gives at least 30 s; here 6.5 s, so that a runner gives up its jobs after 3.5 s of silence."""
    await _replaced(queue, "paceline.dial", "greatest(30, ", "greatest(6.5, ")


@pytest.fixture
async def medium_lease(queue: Queue) -> None:
    """One of 12 s: longer work can outlive it, and nine seconds of silence are forgiven."""
    await _replaced(queue, "paceline.dial", "greatest(30, ", "greatest(12, ")


@pytest.fixture
def resume(queue: Queue) -> Resume:
    """Give whoever is cut off so many seconds to come back, instead of five."""

    async def within(seconds: int) -> None:
        await _replaced(queue, "paceline.drop_dialled", "secs => p_seconds", f"secs => {seconds}")

    return within


async def _replaced(queue: Queue, function: str, old: str, new: str) -> None:
    source = await queue.database.value(DEFINED, function)
    assert old in source
    await queue.database.value(source.replace(old, new))


@pytest.fixture
def token(queue: Queue) -> TokenOf:
    """The token of a runner of the pool `builds`; the same for the same name."""
    made: dict[str, str] = {}

    async def of(name: str) -> str:
        if name not in made:
            made[name] = await Tokens(queue.database).create("rk", pool="builds", runner=name)
        return made[name]

    return of


@pytest.fixture
async def dial(door: Door, token: TokenOf, scratch: Path) -> AsyncIterator[Dial]:
    """Start runners that dial; none of them outlives the test."""
    async with AsyncExitStack() as stack:

        async def make(
            name: str = "r1", *words: str, url: str | None = None, wait: bool = True, **variables: str
        ) -> RunnerProcess:
            known = {
                "PACELINE_GATEWAY": url or door.url, "PACELINE_TOKEN": await token(name), "PACELINE_POOL": "",
                "PACELINE_STALE_THRESHOLD_SECS": "", "PACELINE_HEARTBEAT_INTERVAL_SECS": "1",
            }  # fmt: skip
            runner = await RunnerProcess.start("", scratch, "", *words, **{**known, **variables})
            stack.push_async_callback(runner.end)
            if wait:
                await runner.said("connected to the gateway")
            return runner

        yield make
