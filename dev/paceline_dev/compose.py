"""`docker compose`: the user's own, else Debian's plugin, unpacked into the cache and installed nowhere."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.packages import fetched, packages_key
from paceline_dev.progress import Reporter

PACKAGES: Final = ("docker-compose/trixie",)
"""Beside the client and the engine of the same suite. It is one program without libraries."""
SETTINGS: Final = "settings"
PLUGIN: Final = f"{SETTINGS}/cli-plugins/docker-compose"


def find_plugin(report: Reporter) -> Path:
    """The program, fetched on first use. By itself it reads compose files; to run them it wants an engine."""
    if missing := [tool for tool in ("apt-get", "dpkg") if shutil.which(tool) is None]:
        raise DevError(f"docker compose comes from Debian, and there is no {missing[0]} on this machine")
    place = cache_root() / "compose" / packages_key(PACKAGES)
    return fetched(place, PACKAGES, "docker compose", report, _lay_out) / PLUGIN


def _lay_out(folder: Path) -> None:
    """Settings for the docker client that say nothing but where its plugin is."""
    plugin = folder / PLUGIN
    plugin.parent.mkdir(parents=True)
    plugin.symlink_to("../../usr/libexec/docker/cli-plugins/docker-compose")


def compose_environment(engine: Engine, report: Reporter) -> dict[str, str]:
    """The environment in which `docker compose` works on this engine."""
    environment = engine.client_environment()
    if has_compose(environment):
        return environment
    if not engine.local:
        raise DevError("docker has no compose here: install its plugin (docker-compose-plugin; Debian: docker-compose)")
    return environment | {"DOCKER_CONFIG": str(find_plugin(report).parents[1])}


def has_compose(environment: Mapping[str, str]) -> bool:
    """Whether the docker command in its PATH knows `compose`."""
    done = subprocess.run(["docker", "compose", "version"], env=environment, capture_output=True, check=False)
    return done.returncode == 0
