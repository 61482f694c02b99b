"""Paceline leaves a cluster: groups stay unless they are asked to go, and then nothing stays."""

import pytest

from cluster.upgrade.stage import Stage
from paceline import NewJob
from paceline.migrate import migrate
from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import default_tag
from paceline_dev.kind.install import SYSTEM

pytestmark = pytest.mark.timeout(600)
KIND = "runnergroups.paceline.dev"
METRICS = "v1beta1.external.metrics.k8s.io"
READER = "paceline-operator-authentication-reader"
INSTALL = str(REPOSITORY / "manifests" / "install.yaml")


async def working(stage: Stage, folder: str = "cluster-wide") -> None:
    """A group of one, with the operator of today."""
    site = stage.site
    await migrate(site.url)
    await stage.install(REPOSITORY, folder)
    await site.apply(site.group(1, image=stage.image(default_tag())))
    await site.settled(1)


async def does_a_job(stage: Stage) -> None:
    made = await stage.site.queue.enqueue("count", 1)
    await stage.site.finished(made.id)


async def hanging(stage: Stage) -> list[str]:
    """What of ours waits for its deletion."""
    query = '{range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{"\\n"}{end}'
    said = await stage.kubectl("get", "crd,rgrp,pods", "--all-namespaces", "-o", f"jsonpath={query}")
    return said.split()


async def nothing_left(stage: Stage) -> None:
    async def is_so() -> bool:
        try:
            return await stage.left() == []
        except DevError:  # a kind has gone since kubectl was told of it
            return False

    await stage.site.until(is_so, "nothing of ours is left in the cluster", 180)


async def test_the_operator_goes_and_its_groups_stay_at_work_until_they_are_asked_to_go_too(stage: Stage) -> None:
    site = stage.site
    await working(stage)
    pods = await site.pod_names()
    await stage.follow("The operator alone")

    async def without_operators() -> bool:
        return await stage.operators() == []

    await site.until(without_operators, "no operator is left")
    assert await hanging(stage) == []
    assert await site.pod_names() == pods
    await does_a_job(stage)
    assert (await site.status())["readyReplicas"] == 1, "the group is as it was"

    await stage.install(REPOSITORY)
    await site.run("scale", "rgrp", "builds", "--replicas=2")
    await site.settled(2)
    assert pods < await site.pod_names(), "who came back took over what was there"

    await stage.follow("Everything")
    await nothing_left(stage)
    assert await site.queue.database.value("SELECT count(*) FROM paceline.history") == 1, "but in the database"
    assert await site.queue.database.value("SELECT count(*) FROM paceline.runner_group") == 0


async def test_what_serves_external_metrics_goes_too_and_keeps_no_namespace(stage: Stage) -> None:
    await working(stage, "external-metrics")
    assert {f"APIService {METRICS}", f"RoleBinding {READER}"} < {*await stage.left()}
    await stage.follow("Everything")
    await nothing_left(stage)


async def deleted_in_the_wrong_order(stage: Stage) -> None:
    """Operator and kinds at once, in the middle of a job: the group hangs."""
    site = stage.site
    await working(stage)
    job = await site.queue.enqueue(NewJob(kind="wait", payload="go", max_tries=1, max_losses=0))
    await site.running(job.id)
    await stage.kubectl("delete", "-f", INSTALL, "--wait=false")
    await stage.kubectl("wait", "--for=delete", f"namespace/{SYSTEM}", "--timeout=180s")
    await site.allow("go")
    await site.finished(job.id)
    assert KIND in await hanging(stage), "the group holds its kind"


async def gone(stage: Stage) -> None:
    """Wait for the end of the group, its kind and its pods."""
    site = stage.site

    async def kind_is_gone() -> bool:
        found = await site.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        return KIND not in [each["metadata"]["name"] for each in found["items"]]

    async def no_pods() -> bool:
        return await site.pods() == []

    await site.until(kind_is_gone, "the group is gone, and its kind with it", 120)
    await site.until(no_pods, "its pods are gone too", 120)


async def test_what_was_deleted_in_the_wrong_order_goes_when_the_operator_is_back(stage: Stage) -> None:
    await deleted_in_the_wrong_order(stage)
    await stage.follow("Install it again")
    await gone(stage)
    await stage.follow("And once more for the kinds")
    await stage.site.apply(stage.site.group(1, image=stage.image(default_tag())))
    await stage.site.settled(1)
    await does_a_job(stage)


async def test_what_was_deleted_in_the_wrong_order_can_be_let_go(stage: Stage) -> None:
    await deleted_in_the_wrong_order(stage)
    await stage.follow("Or let them go")
    await gone(stage)
    await nothing_left(stage)
