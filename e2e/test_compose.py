"""The example without Kubernetes as containers, by its page's own commands: up, both roll under load, and away."""

import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.compose import compose_environment
from paceline_dev.errors import DevError
from paceline_dev.images.build import build_images, build_postgres
from paceline_dev.images.recipe import EXAMPLES, RUNNER
from paceline_dev.kind.containment import leaks
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.local_engine import sandboxes
from paceline_dev.kind.places import places
from paceline_dev.progress import Reporter
from support.ended import Ended
from support.page import commands

pytestmark = pytest.mark.timeout(900)
FOLDER = REPOSITORY / "runner-image" / "examples" / "two-nodes"
PAGE = FOLDER / "README.md"
SECRET, UP, ENQUEUE, *ROLLS = commands(PAGE, "As containers")
DOWN = "docker compose down --volumes"
LOOK = REPOSITORY / "tests" / "support" / "ended.py"
RUNNERS = ("runner-1", "runner-2")
BATCH = 5
PATIENCE = 180.0


@dataclass
class Compose:
    """A copy of the example, and a project of the test's own on the engine."""

    folder: Path
    environment: dict[str, str]
    jobs: int = field(default=0)
    """How many were enqueued."""

    @property
    def project(self) -> str:
        return self.environment["COMPOSE_PROJECT_NAME"]

    def start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def give(self, command: str) -> str:
        process = self.start(command)
        said, _ = process.communicate()
        assert process.returncode == 0, f"{command}\n{said}"
        return said

    def enqueue(self, runner: str, jobs: int) -> None:
        first = 9_999_999_999_900
        (numbers,) = [each for each in ENQUEUE.split(" | ") if each.startswith("seq ")]
        command = ENQUEUE.replace(numbers, f"seq {first} {first + jobs - 1}").replace("runner-1", runner)
        assert f"{jobs} jobs are in pool" in self.give(command)
        self.jobs += jobs

    def ended(self) -> Ended:
        """What the database says, asked from within: nothing of the project can be reached from outside."""
        said = self.give(f"docker compose exec -T runner-1 python - < {LOOK}")
        found: Ended = json.loads(said.splitlines()[-1])
        return found

    def all_done(self) -> Ended:
        """Once there are no live jobs any more."""
        end = time.monotonic() + PATIENCE
        while (seen := self.ended())["live"]:
            assert time.monotonic() < end, seen
            time.sleep(0.5)
        assert sum(seen["by"].values()) == self.jobs
        assert (seen["dead"], seen["twice"]) == (0, [])
        return seen

    def container(self, service: str) -> str:
        return self.give(f"docker compose ps --quiet {service}").strip()

    def is_ready(self, service: str) -> bool:
        """By the healthcheck of the file, now."""
        probe = json.loads(self.give("docker compose config --format json"))["services"][service]["healthcheck"]["test"]
        command = ["docker", "compose", "exec", "-T", service, *probe[1:]]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, check=False)
        return done.returncode == 0

    def left(self) -> list[str]:
        """What the engine still has of the project."""
        label = f"--filter label=com.docker.compose.project={self.project}"
        whats = ("ps --all", "volume ls", "network ls")
        return [line for what in whats for line in self.give(f"docker {what} --quiet {label}").splitlines()]


@pytest.fixture
def compose(docker_engine: Engine, report: Reporter, tmp_path: Path) -> Iterator[Compose]:
    try:
        environment = compose_environment(docker_engine, report)
    except DevError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    build_images(docker_engine, report, recipes=(RUNNER, EXAMPLES))
    ours = {
        "COMPOSE_PROJECT_NAME": f"two-nodes-{os.getpid()}",
        "POSTGRES_IMAGE": build_postgres(docker_engine, report),
    }
    made = Compose(Path(shutil.copytree(FOLDER, tmp_path / "two-nodes")), environment | ours)
    yield made
    if made.left():
        made.give(f"{DOWN} --timeout 5")


def test_both_are_restarted_under_load_and_nothing_stays_behind(compose: Compose, docker_engine: Engine) -> None:
    assert f"`{DOWN}`" in PAGE.read_text()
    compose.give(SECRET)
    assert stat.S_IMODE((compose.folder / ".env").stat().st_mode) == 0o600
    compose.give(UP)
    compose.enqueue("runner-1", 20)
    assert set(compose.all_done()["by"]) == set(RUNNERS)
    if docker_engine.namespace is not None:
        assert leaks(docker_engine.namespace, sandboxes(places())) == []

    before = [compose.container(each) for each in RUNNERS]
    compose.enqueue("runner-1", 100)
    for roll, rolled, other in zip(ROLLS, RUNNERS, reversed(RUNNERS), strict=True):
        assert roll.endswith(f" {rolled}")
        process = compose.start(roll)
        while process.poll() is None:
            assert compose.is_ready(other), f"{rolled} restarts, and {other} is away"
            compose.enqueue(other, BATCH)
        said, _ = process.communicate()
        assert process.returncode == 0, said
    assert compose.is_ready("runner-2")
    compose.all_done()
    assert not set(before) & {compose.container(each) for each in RUNNERS}

    compose.give(DOWN)
    assert compose.left() == []
