"""From a release to today, back, and forward again, while jobs come and runners work all the time."""

import pytest

from cluster.operator.rolling import QUICK, rolled
from cluster.operator.watcher import Watcher
from cluster.place import Json
from cluster.upgrade.load import under_load
from cluster.upgrade.stage import Stage
from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import default_tag
from paceline_dev.kind.install import DEPLOYMENT, SYSTEM

pytestmark = pytest.mark.timeout(600)
SIZE = 3


def group(stage: Stage, version: str) -> Json:
    strategy = {**QUICK, "maxSurge": 1}
    return stage.site.group(SIZE, image=stage.image(version), slots=2, updateStrategy=strategy)


async def pods_by_uid(site: Watcher) -> set[str]:
    return {each["metadata"]["uid"] for each in await site.pods()}


async def test_no_job_is_lost_interrupted_or_run_twice_on_the_way_from_a_release_and_back(stage: Stage) -> None:
    site, release, today = stage.site, stage.release, default_tag()
    release.run("migrate", PACELINE_DATABASE_URL=site.url)
    await stage.install(stage.source)
    await site.apply(group(stage, release.version))
    await site.settled(SIZE)
    await stage.acts(release.version)
    async with under_load(site, release.environment()) as load:
        await load.goes_on()
        before = await pods_by_uid(site)

        await stage.follow("The kinds")
        assert "applied" in await stage.migrate()
        await load.goes_on()
        await stage.install(REPOSITORY)
        await stage.acts(today)
        await site.settled(SIZE)
        await load.goes_on()
        assert await pods_by_uid(site) == before, "a new operator restarts no runner"

        first = (await site.status())["currentRevision"]
        await site.apply(group(stage, today))
        await rolled(site, SIZE, first)

        async def replaced() -> bool:
            return not await pods_by_uid(site) & before

        await site.until(replaced, "all pods are new ones")
        await load.goes_on()

        await stage.follow("Back")
        await stage.acts(release.version)
        kept = await pods_by_uid(site)
        await site.run("scale", "rgrp", "builds", f"--replicas={SIZE + 1}")
        await site.settled(SIZE + 1)
        await load.goes_on()
        assert kept < await pods_by_uid(site), "nor does the old one"

        await stage.install(REPOSITORY)
        await stage.acts(today)
        await site.run("scale", "rgrp", "builds", f"--replicas={SIZE}")
        await site.settled(SIZE)
        await load.goes_on()
    assert len(load.jobs) > 30
    await load.done_once()

    async def both_are_ready() -> bool:
        return await site.run("-n", SYSTEM, "get", DEPLOYMENT, "-o", "jsonpath={.status.readyReplicas}") == "2"

    await site.until(both_are_ready, "both operators are ready")
    await stage.kubectl("-n", site.namespace, "delete", "rgrp", "--all", "--timeout=120s")
