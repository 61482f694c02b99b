"""Two namespaces on one database: neither sees, serves or takes what is the other's, until it is given."""

import os

import pytest

from e2e.inside.places import KindSite
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.errors import NotAllowedError
from paceline.reading import Reader
from support.pg import LoginUrl, logins

pytestmark = pytest.mark.timeout(300)


async def with_login(site: KindSite, login_url: LoginUrl, pool: str) -> str:
    """A group whose pods may run and read the jobs of that pool and no others; their login, as we use it."""
    url = await login_url(runner=pool, reader=pool)
    await site.secret("runners", url=url.replace("127.0.0.1", os.environ["PACELINE_E2E_HOST"]))
    group = site.group(1, name=pool, pool=pool)
    group["spec"]["database"]["runnerSecretRef"] = {"name": "runners"}
    await site.apply(group)
    return url


async def test_two_namespaces_cannot_see_each_others_pool(site: KindSite, neighbour: KindSite) -> None:
    async with logins(site.queue.database, site.url) as login_url:
        await with_login(site, login_url, "builds")
        theirs = await with_login(neighbour, login_url, "tests")
        await site.settled(1)
        await neighbour.settled(1, "tests")
        ours, other = await site.queue.enqueue("count", 1), await neighbour.queue.enqueue("count", 2)
        assert await site.done_by(ours) == [each["metadata"]["name"] for each in await site.runners()]
        assert await site.done_by(other) == [each["metadata"]["name"] for each in await neighbour.runners()]

        async with await Database.open(theirs) as database:
            assert await Reader(database).job_detail(other.id) is not None
            assert await Reader(database).job_detail(ours.id) is None
            with pytest.raises(NotAllowedError):
                await Reader(database).list_jobs("builds")
            with pytest.raises(NotAllowedError):
                await Incarnation.register(database, Registration(name="thief", pool="builds", kinds=("*",)))

        await neighbour.apply(neighbour.group(1, name="thief", pool="builds"))
        told = await neighbour.says("Ready", "PoolConflict", "thief")
        assert f"--namespace {neighbour.namespace}" in told["message"]
        assert len(await neighbour.pods()) == 1, "it has no runner"

        await site.paceline("pool", "grant", "builds", "--namespace", neighbour.namespace)
        await neighbour.says("Ready", "AsWanted", "thief")
        await neighbour.run("delete", "rgrp", "--all", "--timeout=60s")
        await site.run("delete", "rgrp", "--all", "--timeout=60s")
