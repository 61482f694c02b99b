"""The operator of every release goes on working on the schema of today, beside runners of today."""

import asyncio
import signal

import pytest

from cluster.operator.site import Site
from support.released import Release

pytestmark = pytest.mark.timeout(300)


async def test_it_scales_taints_and_leaves(site: Site, release: Release) -> None:
    with (site.scratch / "operator-old.log").open("wb") as log:
        words = release.command(*site.operator_words(site.port))
        operator = await asyncio.create_subprocess_exec(*words, env=release.environment(), stdout=log, stderr=log)
    try:
        await site.apply(site.group(1))
        await site.settled(1)
        await site.run("scale", "rgrp", "builds", "--replicas=2")
        await site.settled(2)
        await site.run("annotate", "rgrp", "builds", "paceline.dev/taints=dev:NoClaim")
        await site.until(
            lambda: site.queue.database.value("SELECT count(*) FROM paceline.group_taint"), "the taint is there"
        )
        await site.run("annotate", "rgrp", "builds", "paceline.dev/taints-")
        await site.queue.enqueue("count")
        await site.until(lambda: site.marked("runs"), "the job is done")
        await site.run("delete", "rgrp", "builds", "--wait=true", "--timeout=180s")
        operator.send_signal(signal.SIGTERM)
        assert await operator.wait() == 0
    finally:
        if operator.returncode is None:
            operator.kill()
            await operator.wait()
