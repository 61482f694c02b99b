"""The line that wakes groups at zero, on a real database that can be cut off."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from cluster.operator.site import Site
from paceline import line
from paceline.operating import Office, Operating
from paceline_operator.adapters import bell, queue
from paceline_operator.adapters.bell import Bell
from paceline_operator.adapters.queue import Queue
from paceline_operator.handlers.scaler import Scaler
from support.proxy import proxy
from unit.operator.world import group

pytestmark = pytest.mark.timeout(300)


async def test_it_rings_for_work_and_is_laid_again_when_it_was_cut(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "AGAIN", 0.1)
    monkeypatch.setattr(line, "PROBE_SECONDS", 30.0)  # on a busy machine two are too few
    monkeypatch.setattr(queue, "LOOK_SECONDS", 3600.0)  # nobody looks unless the bell rings
    await Operating(site.queue.database).put_group(install="main", namespace="ci", name="builds", pool="builds")
    woken: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    scaler = Scaler()
    async with proxy(site.url) as way:
        found = Queue(site.url, Bell(way.url), Office("main", "a"), woken.put_nowait)
        found.groups["ci", "builds"] = scaler
        try:
            await found.ready()
            seen = found.seen["ci", "builds"]
            await Operating(site.queue.database).put_scaling(seen.id, 1)
            scaler.turn(group(1, slots=1, autoscaling={"maxReplicas": 9}), 0, seen, None, datetime.now(UTC))
            assert found.operating is not None
            await found._look(found.operating)  # it says who is asleep, and hangs the bell
            await _until(lambda: found.bell.works)
            for _ in range(2):
                await site.queue.enqueue("mail")
                async with asyncio.timeout(60):
                    assert await woken.get() == ("ci", "builds")
                way.cut()
                await _until(lambda: not found.bell.works)
                await _until(lambda: found.bell.works)
        finally:
            await found.close()


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 -- the bell has no event for that
            await asyncio.sleep(0.01)
