"""Both event loops, and what starts children in these tests."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import pytest
import uvloop

from paceline_runner.children.supervisor import Children
from runner.children.parts import Owner, open_descriptors


@pytest.hookimpl
def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on both."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    """Children with ten minutes to live; whatever the test does, nothing is left open."""
    before = open_descriptors()
    children = Children(time.monotonic() + 600)
    yield children
    await children.close()
    assert open_descriptors() <= before


@pytest.fixture
def owner() -> Iterator[Callable[..., Owner]]:
    """Starts processes that own children, as a runner does."""
    started: list[Owner] = []

    def start(seconds: float, *argv: str) -> Owner:
        started.append(Owner(seconds, argv))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture(autouse=True)
def _no_login_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own settings do not matter here."""
    for name in ("PACELINE_DATABASE_URL", "DATABASE_URL", "TRACEPARENT"):
        if name in os.environ:
            monkeypatch.delenv(name)
