"""Runners without processes, as far as they need neither a cluster nor a database."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from paceline_bench.errors import NotMeasuredError
from paceline_bench.hands import Hands


class _Api:
    """Shows the end of one pod, and then nothing more."""

    async def watch(self, *_: object) -> AsyncIterator[tuple[str, Any]]:
        yield "DELETED", {"metadata": {"uid": "u", "resourceVersion": "7"}}
        await asyncio.Event().wait()


def _hands() -> Hands:
    nobody: Any = None
    place: Any = SimpleNamespace(api=_Api())
    return Hands(place, nobody, nobody)


async def test_a_runner_whose_pod_goes_is_gone_in_the_middle_of_what_it_does() -> None:
    crew = _hands()
    crew.alive["u"] = runner = asyncio.create_task(asyncio.sleep(3600))
    crew.following = asyncio.create_task(crew.follow("1"))
    try:
        await asyncio.wait({runner}, timeout=40)
        assert runner.cancelled()
        assert (crew.gone, crew.busy_then, crew.alive) == (1, [0], {})
        crew.require()
    finally:
        crew.following.cancel()


async def test_a_runner_that_breaks_ends_the_measurement() -> None:
    async def broken() -> None:
        raise OSError("the database went away")

    crew = _hands()
    crew.alive["u"] = runner = asyncio.create_task(broken())
    await asyncio.wait({runner})
    with pytest.raises(NotMeasuredError, match="1 runners broke"):
        crew.require()
