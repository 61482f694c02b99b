"""The compose file of the example, as compose itself reads it; `make e2e` runs it."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.compose import find_plugin
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import EXAMPLES, default_tag
from paceline_dev.progress import stderr_reporter

FOLDER = REPOSITORY / "runner-image" / "examples" / "two-nodes"
SECRET = "not-in-the-file"
RUNNERS = ("runner-1", "runner-2")
Config = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def compose() -> str:
    """The user's own where there is one; else Debian's, which says what a file means without any engine."""
    if own := shutil.which("docker-compose"):
        return own
    try:
        return str(find_plugin(stderr_reporter()))
    except DevError as error:
        pytest.skip(f"docker compose cannot be had: {error}")


@pytest.fixture
def config(compose: str, tmp_path: Path) -> Config:
    def _config(**variables: str) -> subprocess.CompletedProcess[str]:
        command = [compose, "--file", str(FOLDER / "compose.yaml"), "--project-directory", str(tmp_path), "config"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **variables}
        return subprocess.run([*command, "--format=json"], env=environment, capture_output=True, text=True, check=False)

    return _config


@pytest.fixture
def services(config: Config) -> dict[str, Any]:
    done = config(POSTGRES_PASSWORD=SECRET)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)["services"]
    return found


def test_it_does_not_start_without_a_secret_of_the_users_own(config: Config) -> None:
    done = config()
    assert done.returncode != 0
    assert "POSTGRES_PASSWORD is missing a value: write it into the file .env" in done.stderr


def test_every_container_is_nobody_in_particular_and_can_change_nothing(services: dict[str, Any]) -> None:
    assert set(services) == {"postgres", "migrate", *RUNNERS}
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "cap_add", "ports", "network_mode", "pid", "ipc"} & set(service), name
        assert all(each["type"] == "volume" for each in service.get("volumes", ())), name


def test_nothing_starts_before_what_it_needs(services: dict[str, Any]) -> None:
    def needs(name: str) -> dict[str, str]:
        return {other: each["condition"] for other, each in services[name].get("depends_on", {}).items()}

    assert needs("migrate") == {"postgres": "service_healthy"}
    for name in RUNNERS:
        assert needs(name) == {"postgres": "service_healthy", "migrate": "service_completed_successfully"}
    assert all("healthcheck" in services[name] for name in ("postgres", *RUNNERS))


def test_nobody_is_killed_while_it_drains(services: dict[str, Any]) -> None:
    for name in RUNNERS:
        minutes, seconds = map(int, re.fullmatch(r"(\d+)m(\d+)s", services[name]["stop_grace_period"]).groups())  # type: ignore[union-attr]
        drain = float(services[name]["environment"].get("PACELINE_DRAIN_TIMEOUT_SECS", 300))
        assert minutes * 60 + seconds >= drain + 30
        assert "stop_signal" not in services[name], "the image's own is SIGTERM"


def test_each_runner_has_a_name_of_its_own_and_the_image_that_is_built(services: dict[str, Any]) -> None:
    assert [services[name]["environment"]["PACELINE_NODE_ID"] for name in RUNNERS] == list(RUNNERS)
    images = {services[name]["image"] for name in ("migrate", *RUNNERS)}
    assert images == {f"{EXAMPLES.name}:{default_tag()}"}
