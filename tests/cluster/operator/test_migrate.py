"""The migrate Job beside an operator that was there first: nothing is done until the tables are there, then all is."""

import json
import os

import pytest

from cluster.local import where
from cluster.operator.site import PROGRAMS, Site
from paceline.migrate import migrate
from paceline.testing import PostgresServer
from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.node.images import PATH, Image

pytestmark = pytest.mark.timeout(300)

JOB = "job/paceline-migrate"


def around(site: Site) -> str:
    """A kustomization around the component that sends its Job to our node; for `kubectl apply -k`."""
    patch = [
        {"op": "add", "path": f"/spec/template/spec/{key}", "value": value}
        for key, value in where(site.node.name).items()
    ]
    whole = {
        "components": [os.path.relpath(REPOSITORY / "manifests" / "migrate", site.scratch)],
        "namespace": site.namespace,
        "patches": [{"target": {"kind": "Job"}, "patch": json.dumps(patch)}],
    }
    (site.scratch / "kustomization.yaml").write_text(json.dumps(whole))
    return str(site.scratch)


async def migrated_by_job(site: Site) -> str:
    """Apply it and wait for its end; what it said."""
    await site.run("apply", "-k", around(site))
    assert "condition met" in await site.run("wait", JOB, "--for=condition=Complete", "--timeout=180s")
    return await site.run("logs", JOB)


@pytest.mark.parametrize("version", [0, 4], ids=["empty", "of 0.1.0"])
async def test_a_group_begins_when_the_job_has_made_its_tables(
    operated: Site, postgres: PostgresServer, version: int
) -> None:
    site = operated
    site.node.add_image(
        f"{OPERATOR.name}:{default_tag()}",
        Image(entrypoint=(str(PROGRAMS / "paceline"),), env={"PATH": f"{PROGRAMS}:{PATH}"}),
    )
    async with postgres.database() as url:
        if version:
            await migrate(url, to=version)
        await site.secret("later", url=url)
        await site.secret("paceline-migrate", url=url)
        await site.apply(site.group(1, database={"secretRef": {"name": "later"}}))
        told = await site.says("QueueReachable", "SchemaTooOld")
        assert "paceline migrate" in told["message"]
        assert await site.pods() == []
        assert "applied" in await migrated_by_job(site)
        await site.settled(1)
        await site.run("delete", JOB)
        assert "lacks nothing" in await migrated_by_job(site)
