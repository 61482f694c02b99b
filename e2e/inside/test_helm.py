"""A release by Helm: the tables come before the operator, a value changes, and what goes leaves nothing hanging."""

import asyncio

import pytest

from cluster.place import Json
from cluster.upgrade.test_uninstall import hanging
from e2e.inside.stages import KindStage
from paceline_dev.errors import DevError
from paceline_dev.helm.program import CHARTS, RELEASE, Helm, find_helm
from paceline_dev.images.recipe import default_tag
from paceline_dev.kind.install import OPERATOR_PODS, SYSTEM
from paceline_dev.progress import stderr_reporter

pytestmark = pytest.mark.timeout(600)
KINDS = f"{RELEASE}-crds"
WAIT = ("--wait", "--timeout=180s")


@pytest.fixture
def helm(stage: KindStage) -> Helm:
    return Helm(find_helm(stderr_reporter()), stage.site.kubectl.kubeconfig)


async def migrate_by(stage: KindStage, url: str) -> None:
    """The login of the Job that makes the tables, in a namespace that is there before Helm comes."""
    made: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "paceline-migrate", "namespace": SYSTEM},
         "stringData": {"url": url}},
    ]  # fmt: skip
    for each in made:
        await stage.site.apply(each)


async def count(stage: KindStage, *what: str) -> int:
    return len((await stage.kubectl("-n", SYSTEM, "get", *what, "-o", "name")).split())


async def test_a_release_makes_its_tables_first_works_is_upgraded_and_leaves_groups_at_work(
    stage: KindStage, helm: Helm
) -> None:
    site = stage.site

    async def run(*words: str) -> str:
        return (await asyncio.to_thread(helm.run, *words)).stdout

    await run("install", KINDS, str(CHARTS / KINDS))
    chart = (RELEASE, str(CHARTS / RELEASE), "-n", SYSTEM, *WAIT)
    url = stage.as_pods_see(site.url)
    await migrate_by(stage, f"{url}-of-another-name")
    with pytest.raises(DevError, match="paceline-migrate"):
        await run("install", *chart, "--set=migrate.enabled=true,migrate.backoffLimit=0")
    assert await count(stage, "deployments") == 0, "without its tables nothing of the operator comes"
    assert "-of-another-name" in await stage.kubectl("-n", SYSTEM, "logs", "job/paceline-migrate"), "the log stays"

    await migrate_by(stage, url)
    await run("upgrade", "--install", *chart, "--set=migrate.enabled=true")
    await site.until(lambda: _none(stage, "jobs"), "what made the tables has gone")
    await site.apply(site.group(1, image=stage.image(default_tag())))
    await site.settled(1)
    await site.finished((await site.queue.enqueue("count", 1)).id)
    pods = await site.pod_names()

    await run("upgrade", *chart, "--reuse-values", "--set=operator.replicas=1")

    async def one() -> bool:
        return len(await stage.operators()) == 1

    await site.until(one, "there is one operator")
    await site.run("scale", "rgrp", "builds", "--replicas=2")
    await site.settled(2)
    assert pods < await site.pod_names(), "a changed value restarts no runner"

    await run("uninstall", RELEASE, "-n", SYSTEM, *WAIT)
    await run("uninstall", KINDS, *WAIT)
    await site.until(lambda: _none(stage, "pods", "-l", OPERATOR_PODS), "no operator is left")
    assert await hanging(stage) == []
    ours = ("all,secrets,configmaps,leases,networkpolicies", "-l", "app.kubernetes.io/instance")
    await site.until(lambda: _none(stage, *ours), "nothing of the release is left")
    assert (await site.status())["readyReplicas"] == 2, "kinds and groups stay"
    await site.finished((await site.queue.enqueue("count", 2)).id)


async def _none(stage: KindStage, *what: str) -> bool:
    return await count(stage, *what) == 0
