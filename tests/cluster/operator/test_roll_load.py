"""Updates of runners that are all at work: nothing is lost, repeated or failed, whatever code they have."""

import asyncio
import copy

import pytest

from cluster.operator.rolling import QUICK, changed, never_fewer, rolled
from cluster.operator.watcher import Watcher
from cluster.place import Json
from paceline import NewJob
from paceline.reading import Reader

pytestmark = pytest.mark.timeout(300)
SIZE = 10


async def rolled_under_load(site: Watcher, before: Json, after: Json) -> None:
    """Go from the one to the other while jobs come all the time, each of which may be tried only once."""
    await site.apply(before)
    first = (await site.settled(SIZE))["currentRevision"]

    async def roll() -> None:
        await site.apply(after)
        await rolled(site, SIZE, first)

    made = []
    async with never_fewer(site, SIZE):
        rolling = asyncio.create_task(roll())
        while not rolling.done():
            made += await site.queue.enqueue_many([NewJob(kind="nap", payload=0.4, max_tries=1, max_losses=0)] * 10)
            await asyncio.sleep(0.4)
        await rolling
    assert len(made) > 50
    who = await site.done_by(*made)
    assert len(set(who)) > 3
    assert [each for each in made if await site.attempts(each.id)] == [], "no attempt but the one that did it"
    assert await Reader(site.queue.database).list_dead() == []


async def test_ten_runners_under_load_lose_repeat_and_fail_no_job(operated: Watcher) -> None:
    site = operated
    group = site.group(SIZE, slots=2, updateStrategy={**QUICK, "maxSurge": 3})
    await rolled_under_load(site, group, changed(copy.deepcopy(group), VERSION="2"))


async def test_so_do_ten_that_go_from_a_released_version_to_this_one(operated: Watcher, released_image: str) -> None:
    site = operated
    before = site.group(SIZE, image=released_image, slots=2, updateStrategy={**QUICK, "maxSurge": 3})
    await rolled_under_load(site, before, site.group(SIZE, slots=2, updateStrategy={**QUICK, "maxSurge": 3}))
