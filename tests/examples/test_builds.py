"""Each build in a pod of its own, of which nothing is left."""

import json
import subprocess
from pathlib import Path

import pytest

from cluster.operator.site import Site
from examples.cluster import apply, queue_of
from examples.conftest import OpenLaptop
from examples.laptop import told
from paceline.job import NewJob
from runner.process import until

pytestmark = pytest.mark.timeout(600)
BUILDS = 4


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real one, with something to build that leaves something behind."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "build.sh").write_text("echo building && touch left-behind\n")

    def git(*words: str) -> None:
        author = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    git("add", ".")
    git("commit", "--message=Begin")
    return folder


async def test_each_build_has_a_runner_and_a_pod_that_nobody_else_has(operated: Site, repository: Path) -> None:
    site, queue = operated, queue_of(operated, "builds")
    await apply(site, "builds")
    await site.settled(1)
    build = NewJob(kind="build.run", payload={"repository": str(repository), "command": ["sh", "build.sh"]})
    made = await queue.enqueue_many([build] * BUILDS)
    runners = await site.done_by(*made)
    results = [(await site.job(each.id)).result for each in made]
    pods = {result["pod"] for result in results if isinstance(result, dict)}
    assert (len(set(runners)), len(pods)) == (BUILDS, BUILDS)
    incarnations = await queue.database.value("SELECT count(DISTINCT incarnation) FROM paceline.history")
    assert incarnations == BUILDS

    async def are_gone() -> bool:
        there = {each["metadata"]["name"] for each in await site.runners()}
        return not there & set(runners) and not await site.pod_names() & pods

    await site.until(are_gone, "their Runners and pods are deleted", 180)
    await site.tells("LifetimeServed")


async def test_a_build_that_fails_is_not_tried_again_and_a_place_that_was_used_is_refused(
    operated: Site, repository: Path
) -> None:
    site, queue = operated, queue_of(operated, "builds")
    alone = {"mode": "Internal", "maxReplicas": 1, "minIdle": 1}
    await apply(site, "builds", {"builds": {"lifetime": {"maxJobs": 2}, "autoscaling": alone}})
    await site.settled(1)
    broken = await queue.enqueue("build.run", {"repository": str(repository), "command": ["false"]})
    dead = await until(queue, broken.id, "dead", seconds=site.patience)
    assert "BuildError: false ended with 1" in (dead.error or "")
    assert dead.tries == 1
    second = await queue.enqueue("build.run", {"repository": str(repository), "command": ["true"]})
    dead = await until(queue, second.id, "dead", seconds=site.patience)
    assert "somebody has built here before" in (dead.error or "")


async def test_on_a_laptop_a_runner_leaves_after_its_build(laptop: OpenLaptop, repository: Path) -> None:
    builds = laptop("builds")
    builds.variables = {"TMPDIR": str(builds.scratch)}
    runner = await builds.serves(*told(builds.folder, "paceline", "run"))
    payload = json.dumps({"repository": str(repository), "command": ["sh", "build.sh"]})
    words = told(builds.folder, "paceline", "enqueue", "build.run")
    assert '"commit": ' in await builds.does(*(payload if word.startswith("{") else word for word in words))
    assert await runner.wait() == 0
    assert (builds.scratch / "build" / "left-behind").exists(), "on a laptop it is yours to clear away"
