"""The images as an engine runs them: as nobody, on a root that cannot be written, offline, and built alike twice."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paceline_dev.images.build import Image, build_images
from paceline_dev.images.recipe import EXAMPLES, OPERATOR, RECIPES, RUNNER, project_version
from paceline_dev.kind.engine import Engine
from paceline_dev.progress import stderr_reporter

pytestmark = pytest.mark.timeout(600)
TAG = "e2e"
STOP_SECONDS = 60
Run = Callable[..., str]
Stopped = Callable[..., tuple[int, float, str]]


@pytest.fixture(scope="session")
def images(docker_engine: Engine) -> dict[str, Image]:
    """All images of this tree, by name; five minutes where the cache has nothing."""
    report = stderr_reporter()
    built = build_images(docker_engine, report, TAG)
    for image in built:
        report.line(f"{image.reference}: {image.size / 10**6:.0f} MB")
    return {image.reference.split(":")[0]: image for image in built}


@pytest.fixture
def run(docker_engine: Engine, images: dict[str, Image]) -> Run:
    """Run a container as strictly as a cluster would, and return what it says."""

    def _run(name: str, *command: str, options: tuple[str, ...] = ()) -> str:
        reference = images[name].reference
        return docker_engine.docker("run", "--rm", *STRICT, *options, reference, *command).stdout

    return _run


STRICT = ("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")
SHIPPED = [recipe.name for recipe in RECIPES]
PYTHON = ("--entrypoint=/opt/paceline/bin/python",)


def inspected(engine: Engine, reference: str) -> dict[str, Any]:
    (found,) = json.loads(engine.docker("image", "inspect", reference).stdout)
    image: dict[str, Any] = found
    return image


@pytest.mark.parametrize("name", SHIPPED)
def test_it_answers_as_nobody_on_a_root_that_cannot_be_written(run: Run, name: str) -> None:
    assert run(name, "--version").strip() == f"paceline {project_version()}"
    assert "Usage: paceline" in run(name, "--help")
    who = "import os; print(os.getuid(), os.getgid(), os.access('/', os.W_OK), os.access('/opt/paceline', os.W_OK))"
    assert run(name, "-c", who, options=PYTHON).split() == ["65532", "65532", "False", "False"]


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        (
            OPERATOR.name,
            ["paceline_operator.handlers.operator", "paceline_gateway", "kopf", "fastapi"],
            ["pip", "pytest"],
        ),
        (RUNNER.name, ["paceline_runner.entry", "paceline_cli.main", "uvloop"], ["pip", "pytest", "kopf", "fastapi"]),
    ],
)
def test_it_has_what_it_needs_compiled_and_nothing_else(
    run: Run, name: str, there: list[str], absent: list[str]
) -> None:
    """-X importtime would tell of modules that are compiled at every start; a missing cache file tells it too."""
    code = (
        "import importlib, importlib.util, sys, os\n"
        f"for name in {there}: importlib.import_module(name)\n"
        f"print([name for name in {absent} if importlib.util.find_spec(name)])\n"
        "cached = [module.__cached__ for module in list(sys.modules.values()) if getattr(module, '__cached__', None)]\n"
        "print([path for path in cached if not os.path.exists(path)], len(cached) > 100)\n"
    )
    assert run(name, "-c", code, options=PYTHON).splitlines() == ["[]", "[] True"]


def test_the_operator_says_what_it_lacks_outside_of_a_cluster(docker_engine: Engine, images: dict[str, Image]) -> None:
    done = docker_engine.docker("run", "--rm", *STRICT, images[OPERATOR.name].reference, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr)


@pytest.fixture
def stopped(docker_engine: Engine, images: dict[str, Image]) -> Iterator[Stopped]:
    """Start a container, wait until it says something, stop it; its exit code, the seconds that took, its log."""
    names: list[str] = []

    def _stopped(name: str, *options: str, says: str) -> tuple[int, float, str]:
        container = docker_engine.docker("run", "--detach", *STRICT, *options, images[name].reference).stdout.strip()
        names.append(container)
        deadline = time.monotonic() + 120
        while says not in (log := _log(docker_engine, container)) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert says in log
        began = time.monotonic()
        docker_engine.docker("stop", "--time", str(STOP_SECONDS), container)
        took = time.monotonic() - began
        code = docker_engine.docker("container", "inspect", "--format", "{{.State.ExitCode}}", container).stdout
        return int(code), took, _log(docker_engine, container)

    yield _stopped
    for each in names:
        docker_engine.docker("rm", "--force", each, check=False)


def _log(engine: Engine, container: str) -> str:
    done = engine.docker("logs", container)
    return done.stdout + done.stderr


KUBECONFIG = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


def test_the_operator_ends_when_it_is_told_as_process_one(stopped: Stopped, tmp_path: Path) -> None:
    """Its API server is not there, which is when it must still listen."""
    (tmp_path / "config").write_text(json.dumps(KUBECONFIG))
    tmp_path.chmod(0o755)
    mount = f"--volume={tmp_path}:/etc/kube:ro"
    code, took, log = stopped(OPERATOR.name, mount, "--env=KUBECONFIG=/etc/kube/config", says="127.0.0.1:1")
    assert code == 0, log
    assert took < STOP_SECONDS


def test_the_runner_ends_when_it_is_told_as_process_one(stopped: Stopped) -> None:
    """Its database is not there, which it waits for."""
    code, took, log = stopped(
        EXAMPLES.name, "--env=PACELINE_DATABASE_URL=postgresql://u:p@127.0.0.1:1/d", "--tmpfs=/tmp", says="127.0.0.1"
    )
    assert code == 0, log
    assert took < STOP_SECONDS


def test_the_example_finds_its_handlers(run: Run) -> None:
    code = "import jobs; print(*sorted(jobs.jobs.kinds))"
    said = run(EXAMPLES.name, "-c", code, options=PYTHON)
    assert said.split() == ["mail.send", "number.factor", "payload.digest", "report.build", "thumb.size"]


def test_the_same_commit_built_twice_has_the_same_layers(docker_engine: Engine, images: dict[str, Image]) -> None:
    again = f"{TAG}-again"
    try:
        build_images(docker_engine, stderr_reporter(), again, again=True)
        for name in (OPERATOR.name, RUNNER.name):  # what a user copies into his own has the time of its build
            first, second = (inspected(docker_engine, f"{name}:{tag}") for tag in (TAG, again))
            assert first["RootFS"]["Layers"] == second["RootFS"]["Layers"], name
            assert first["Config"]["User"] == "65532:65532"
    finally:
        docker_engine.docker("image", "rm", *(f"{name}:{again}" for name in SHIPPED), check=False)


def test_what_has_not_changed_is_not_built_again(docker_engine: Engine, images: dict[str, Image]) -> None:
    before = [inspected(docker_engine, image.reference)["Id"] for image in images.values()]
    began = time.monotonic()
    build_images(docker_engine, stderr_reporter(), TAG)
    assert time.monotonic() - began < 45
    assert [inspected(docker_engine, image.reference)["Id"] for image in images.values()] == before
