"""A Docker engine to run kind on: the user's own if it works, else one of ours in a network without a way out."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.kind.local_engine import LABEL, ensure_running
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import places
from paceline_dev.progress import Reporter

CHOICE = "PACELINE_ENGINE"
"""`docker` or `local` forces one of the two."""
ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine, and how to reach it and what runs on it."""

    program: Path
    """The docker client."""
    host: str | None
    """Its DOCKER_HOST; None leaves it to the user's own settings."""
    namespace: Namespace | None
    """Where the engine and its published ports are; None for the machine's own network."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What its clients need beyond the user's environment."""

    @property
    def local(self) -> bool:
        """Whether it is ours, so that images must be built here and ports are reached from inside."""
        return self.namespace is not None

    def inside(self, command: Sequence[str | Path]) -> list[str]:
        """The command that runs `command` where the cluster's addresses can be reached."""
        return self.namespace.inside(command) if self.namespace else [*map(str, command)]

    def client_environment(self) -> dict[str, str]:
        """For whoever talks to the engine."""
        path = os.pathsep.join([str(self.program.parent), os.environ.get("PATH", os.defpath)])
        merged = {**os.environ, **self.environment, "PATH": path}
        return merged | ({"DOCKER_HOST": self.host} if self.host else {})

    def exports(self) -> list[str]:
        """What a person pastes into a shell."""
        if self.host is None:
            return []
        return [f"export DOCKER_HOST={self.host}", f"export PATH={self.program.parent}:$PATH"]

    def docker(
        self, *arguments: str | Path, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a docker command; a failure is an error with docker's own words, unless the caller wants to look."""
        done = subprocess.run(
            [self.program, *arguments],
            input=stdin,
            env=self.client_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines() or [f"status {done.returncode}"]
            raise DevError(f"docker {' '.join(map(str, arguments[:2]))}: {said[-1]}")
        return done


def find_engine(report: Reporter) -> Engine:
    """An engine that runs containers; the local one is started if need be (2 s, a minute the first time)."""
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", "docker", "local"):
        raise DevError(f'{CHOICE} is "{choice}": use docker, local, or leave it out')
    lack = f"{CHOICE} is local" if choice == "local" else ""
    if not lack:
        found = users_engine()
        if isinstance(found, Engine):
            return found
        if choice == "docker":
            raise DevError(f"{found}: start Docker, or unset {CHOICE}")
        lack = found
    return local_engine(lack, report)


def local_engine(why: str, report: Reporter) -> Engine:
    """Our own engine, started first if it does not run; `why` is what is wrong with the user's."""
    here = places()
    packages = ensure_running(here, why, report)
    return Engine(packages / "bin" / "docker", f"unix://{here.docker_socket}", Namespace.of(here), {})


def users_engine() -> Engine | str:
    """The engine that the user's docker command reaches, or what is wrong with it."""
    program = shutil.which("docker")
    if program is None:
        return "there is no docker command here"
    try:
        asked = subprocess.run(
            [program, "info", "--format", "{{json .}}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=ANSWER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"docker info gives no answer in {ANSWER_SECONDS} s"
    lack = judge_info(asked.returncode, asked.stdout)
    return lack or Engine(Path(program), None, None)


def judge_info(status: int, output: str) -> str:
    """What speaks against the engine that gave this answer to `docker info`; nothing if it can run kind's nodes."""
    try:
        info = json.loads(output or "{}")
    except ValueError:
        return "docker info gives an answer that is no JSON"
    if status != 0 or not info.get("ServerVersion") or info.get("ServerErrors"):
        return "no Docker engine answers"
    if info.get("OSType", "linux") != "linux":
        return f"the Docker engine runs {info['OSType']} containers"
    if any(label.startswith(f"{LABEL}=") for label in info.get("Labels") or ()):
        return "DOCKER_HOST names an engine of Paceline's"
    return ""
