"""What users get wrong: the condition names the field and the fix, and nothing is lost."""

import asyncio
import json

import pytest

from cluster.operator.site import Site
from paceline.testing import PostgresServer
from support.proxy import proxy

pytestmark = pytest.mark.timeout(300)


async def test_a_missing_secret_is_named_and_found_when_it_comes(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1, database={"secretRef": {"name": "nowhere"}}))
    told = await site.says("QueueReachable", "SecretMissing")
    assert '"nowhere"' in told["message"]
    assert (await site.condition("Ready"))["reason"] == "SecretMissing"
    assert await site.pods() == []
    await site.secret("nowhere")
    await site.settled(1)


@pytest.mark.parametrize(
    ("values", "reason", "words"),
    [
        ({"address": "x"}, "SecretMissing", "has no key url"),
        ({"url": "mysql://x"}, "SecretInvalid", "postgresql://"),
        ({"url": "postgresql://nobody:secret-word@127.0.0.1:1/x"}, "Unreachable", "127.0.0.1:1/x"),
    ],
)
async def test_a_url_that_is_no_use_is_told_without_its_password(
    operated: Site, values: dict[str, str], reason: str, words: str
) -> None:
    site = operated
    await site.secret("bad", **values)
    await site.apply(site.group(1, database={"secretRef": {"name": "bad"}}))
    told = await site.says("QueueReachable", reason)
    assert words in told["message"]
    assert "secret-word" not in site.log() + json.dumps(await site.status())


async def test_a_database_without_a_schema_is_left_alone(operated: Site, postgres: PostgresServer) -> None:
    site = operated
    async with postgres.database() as empty:
        await site.secret("empty", url=empty)
        await site.apply(site.group(1, database={"secretRef": {"name": "empty"}}))
        told = await site.says("QueueReachable", "SchemaTooOld")
        assert "paceline migrate" in told["message"]
        assert await site.pods() == []


async def test_a_database_that_never_answers_holds_up_nobody(operated: Site) -> None:
    site = operated
    async with proxy(site.url) as way:
        way.swallow()
        await site.secret("hangs", url=way.url)
        await site.apply(site.group(1, name="waiting", database={"secretRef": {"name": "hangs"}}))
        await site.apply(site.group(1))
        await site.settled(1)
        await site.says("QueueReachable", "Unreachable", "waiting")


async def test_a_template_without_a_runner_is_told(operated: Site) -> None:
    site = operated
    wrong = site.group(1)
    wrong["spec"]["template"]["spec"]["containers"][0]["name"] = "worker"
    await site.apply(wrong)
    told = await site.says("Progressing", "TemplateInvalid")
    assert 'no container named "runner" (there are: worker)' in told["message"]
    assert await site.pods() == []
    await site.apply(site.group(1))
    await site.settled(1)


async def test_a_template_that_the_api_server_refuses_is_told_in_its_words(operated: Site) -> None:
    site = operated
    wrong = site.group(0)
    wrong["spec"]["template"]["spec"]["containers"][0]["image"] = "   "
    await site.apply(wrong)
    told = await site.says("Progressing", "TemplateRefused")
    assert "spec.containers[0].image" in told["message"]
    await site.run("scale", "rgrp", "builds", "--replicas=3")
    await asyncio.sleep(1)
    assert await site.pods() == []
    assert await site.runners() == []
    await site.apply(site.group(3))
    await site.settled(3)


async def test_a_quota_is_told_and_what_it_allows_works(operated: Site) -> None:
    site = operated
    quota = {"metadata": {"name": "few", "namespace": site.namespace}, "spec": {"hard": {"pods": "1"}}}
    await site.apply({"apiVersion": "v1", "kind": "ResourceQuota", **quota})

    async def counted() -> bool:
        found = await site.api.get(f"/api/v1/namespaces/{site.namespace}/resourcequotas/few")
        return bool(found.get("status", {}).get("hard"))

    await site.until(counted, "the quota is in force")
    await site.apply(site.group(2))
    told = await site.says("Progressing", "QuotaExceeded")
    assert "exceeded quota" in told["message"]
    assert len(await site.pods()) == 1
    await site.run("delete", "resourcequota", "few")
    await site.settled(2)


async def test_a_second_group_on_a_leaders_pool_is_refused(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1, dispatch="Leader"))
    await site.settled(1)
    assert (await site.says("LeaderElected", "Elected"))["status"] == "True"
    assert (await site.status())["leader"]["runner"] == (await site.runners())[0]["metadata"]["name"]
    await site.apply(site.group(1, name="second", pool="builds"))
    told = await site.says("Ready", "PoolConflict", "second")
    assert "pool of its own" in told["message"]
