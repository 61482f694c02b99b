"""Jobs for GPUs go to GPUs, others never, and none to a GPU that fails."""

import json

import pytest

from cluster.operator.site import Site
from cluster.operator.test_taints import TAINTS, shown
from examples.cluster import apply, queue_of, ready
from examples.conftest import OpenLaptop
from examples.laptop import EXAMPLES, commands_of, told
from paceline.job import NewJob

pytestmark = pytest.mark.timeout(300)
SICK = "gpu=only:NoClaim,health=bad:NoClaim"
"""The group's own taint, and the one of the page."""


def training() -> NewJob:
    """As the page enqueues it."""
    words = told(EXAMPLES / "gpu", "paceline", "enqueue", "model.train")
    given = {name: words[words.index(name) + 1] for name in ("--tag", "--toleration")}
    return NewJob(
        kind="model.train", payload=json.loads(words[3]), tags=(given["--tag"],), tolerations=(given["--toleration"],)
    )


async def named(site: Site, group: str) -> set[str]:
    return {each["metadata"]["name"] for each in await site.runners() if each["spec"]["groupRef"]["name"] == group}


async def test_no_job_sits_on_a_gpu_that_needs_none_and_none_goes_to_a_gpu_that_fails(operated: Site) -> None:
    site, queue = operated, queue_of(operated, "models")
    warm = {name: {"autoscaling": {"minReplicas": size, "maxReplicas": size}} for name, size in
            (("models-gpu", 2), ("models-cpu", 1))}  # fmt: skip
    await apply(site, "gpu", warm)
    await ready(site, 2, "models-gpu")
    await ready(site, 1, "models-cpu")
    gpus, cpus = await named(site, "models-gpu"), await named(site, "models-cpu")

    trained = await queue.enqueue_many([training()] * 4)
    made = await queue.enqueue_many([NewJob(kind="points.make", payload=5)] * 12)
    assert set(await site.done_by(*made)) == cpus, "not even while there are more of them than slots"
    assert set(await site.done_by(*trained)) <= gpus

    broken, good = sorted(gpus)
    taint = next(words for words in commands_of(EXAMPLES / "gpu") if words[:2] == ["kubectl", "annotate"])[4]
    await site.run("annotate", "rnr", broken, taint)
    await shown(site, broken, SICK)
    assert set(await site.done_by(*await queue.enqueue_many([training()] * 4))) == {good}
    await site.run("annotate", "rnr", good, taint)
    await shown(site, good, SICK)
    await site.run("annotate", "rnr", broken, f"{TAINTS}-")
    assert set(await site.done_by(await queue.enqueue(training()))) == {broken}, "it is well again"


async def test_a_machine_with_a_gpu_takes_what_the_laptop_leaves(laptop: OpenLaptop) -> None:
    models = laptop("gpu")
    await models.develops()
    await models.runs("gpu-1", *told(models.folder, "paceline", "run")[2:])
    assert " is done: [[" in await models.types("paceline", "enqueue", "points.make")
    assert '"slope": ' in await models.types("paceline", "enqueue", "model.train")
    query = "SELECT r.name FROM paceline.history JOIN paceline.incarnation i ON i.id = incarnation"
    names = await models.database.rows(f"{query} JOIN paceline.runner r ON r.id = i.runner ORDER BY history.id")
    assert [row["name"] == "gpu-1" for row in names] == [False, True]
