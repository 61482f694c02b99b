"""Databases and API servers that go away and come back, operators that die, Secrets that change."""

import asyncio
import json
import signal
from urllib.parse import urlsplit

import pytest

from cluster.operator.site import Site
from paceline.testing import PostgresServer
from support.proxy import proxy

pytestmark = pytest.mark.timeout(300)


async def test_a_database_that_is_away_changes_nothing_and_is_told(site: Site) -> None:
    async with proxy(site.url) as way:
        await site.secret(url=way.url)
        await site.secret("runners", url=site.url)
        operator = site.start_operator()
        database = {"secretRef": {"name": "db"}, "runnerSecretRef": {"name": "runners"}}
        await site.apply(site.group(2, database=database))
        await site.settled(2)
        before = await site.pod_names()
        way.refuse()
        way.cut()
        told = await site.says("QueueReachable", "Unreachable")
        assert told["status"] == "False"
        await site.run("scale", "rgrp", "builds", "--replicas=0")
        await asyncio.sleep(3)
        assert await site.pod_names() == before
        way.refuse(False)
        await site.says("QueueReachable", "Reachable")
        await site.settled(0)
        assert operator.poll() is None
        await site.tells("Unreachable")


async def test_an_api_server_that_is_away_changes_nothing_and_what_was_missed_is_seen(site: Site) -> None:
    """Also what was deleted while nobody watched: no event ever tells of that."""
    config = json.loads(site.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    admin, path = site.kubeconfig, site.scratch / "through.kubeconfig"
    async with proxy(cluster["server"]) as way:
        cluster["server"] = f"https://127.0.0.1:{urlsplit(way.url).port}"
        path.write_text(json.dumps(config))
        site.kubeconfig = path
        operator = site.start_operator()
        await site.apply(site.group(2))
        await site.settled(2)
        gone = sorted(await site.pod_names())[0]
        name = gone.removesuffix("-1")
        way.refuse()
        way.cut()
        await site.run("delete", "rnr", name)
        await site.until(lambda: _absent(site, gone), "the pod has gone with its Runner", 180)
        await site.queue.enqueue("count", 1)
        await site.until(lambda: site.marked("runs"), "runners go on working")
        assert (await site.get("/healthz"))[0] == 200
        way.refuse(False)
        await site.until(lambda: _forgotten(site, name), "the Runner is forgotten")  # before, the status is an old one
        await site.settled(2)
        assert operator.poll() is None
        assert name not in {each["metadata"]["name"] for each in await site.runners()}
        assert await _forgotten(site, name)
    site.kubeconfig = admin


async def _forgotten(site: Site, runner: str) -> bool:
    return runner not in {each.runner for each in await site.registrations()}


async def _absent(site: Site, pod: str) -> bool:
    return pod not in await site.pod_names()


async def test_an_operator_that_is_killed_leaves_everything_as_it_is_and_the_next_goes_on(site: Site) -> None:
    site.start_operator()
    await site.apply(site.group(2))
    await site.settled(2)
    before = await site.pod_names()
    await site.stop_operator(signal.SIGKILL)
    await site.run("scale", "rgrp", "builds", "--replicas=3")
    gone = sorted(before)[0]
    await site.api.delete(f"/api/v1/namespaces/{site.namespace}/pods/{gone}", {"gracePeriodSeconds": 0})
    site.start_operator()
    await site.settled(3)
    assert sorted(before)[1] in await site.pod_names()
    assert gone not in await site.pod_names()


async def test_a_group_that_vanished_while_nobody_looked_leaves_no_rows(site: Site) -> None:
    site.start_operator()
    await site.apply(site.group(1))
    await site.apply(site.group(0, name="other"))
    await site.settled(1)
    await site.says("Ready", "AsWanted", "other")
    await site.stop_operator(signal.SIGKILL)
    await site.run("patch", "rgrp", "builds", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    await site.run("delete", "rgrp", "builds")
    site.start_operator()

    async def forgotten() -> bool:
        return not await site.queue.database.value("SELECT count(*) FROM paceline.runner_group WHERE name = 'builds'")

    await site.until(forgotten, "its rows are deleted")
    assert await site.queue.database.value("SELECT count(*) FROM paceline.runner_group WHERE name = 'other'") == 1


async def test_a_secret_that_changes_is_used_without_a_restart(
    site: Site, postgres: PostgresServer, template: str
) -> None:
    async with postgres.database(template) as second:
        operator = site.start_operator()
        await site.apply(site.group(1))
        await site.settled(1)
        await site.secret(url=second)

        async def moved() -> bool:
            import asyncpg

            connection = await asyncpg.connect(second)
            try:
                return bool(
                    await connection.fetchval("SELECT count(*) FROM paceline.runner_group WHERE name = 'builds'")
                )
            finally:
                await connection.close()

        await site.until(moved, "the group is in the other database")
        assert operator.poll() is None


async def test_two_databases_are_served_side_by_side(site: Site, postgres: PostgresServer, template: str) -> None:
    async with postgres.database(template) as second:
        await site.secret("db2", url=second)
        site.start_operator()
        await site.apply(site.group(1))
        await site.apply(site.group(1, name="tests", database={"secretRef": {"name": "db2"}}))
        await site.until(lambda: _ready(site, "builds"), "builds is ready")
        await site.until(lambda: _ready(site, "tests"), "tests is ready")
        few = (
            "SELECT max(n) BETWEEN 1 AND 3 FROM (SELECT count(*) AS n FROM pg_stat_activity"
            " WHERE application_name = 'paceline-operator' AND datname = ANY($1) GROUP BY datname) x"
        )
        names = [urlsplit(url).path.strip("/") for url in (site.url, second)]
        await site.until(lambda: site.queue.database.value(few, names), "each has three connections at most")


async def _ready(site: Site, name: str) -> bool:
    return (await site.condition("Ready", name)).get("reason") == "AsWanted"


async def test_the_port_says_how_it_is(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    assert await site.get("/healthz") == (200, "ok\n")
    assert await site.get("/readyz") == (200, "ok\n")
    text = (await site.get("/metrics"))[1]
    assert f'paceline_runners{{group="builds",namespace="{site.namespace}",state="ready"}} 1.0' in text
    assert "paceline_reconcile_seconds_count" in text
