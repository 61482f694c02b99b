"""A Docker engine to run kind on: the user's own if it works, else one of ours in a network without a way out."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.kind.local_engine import LABEL, ensure_running
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.places import Places, places
from paceline_dev.kind.programs import find_kind
from paceline_dev.progress import Reporter

CHOICE = "PACELINE_ENGINE"
"""`docker` or `local` forces one of the two."""
ANSWER_SECONDS = 20
PROXIES = {"http_proxy", "https_proxy", "no_proxy", "all_proxy"}
"""kind hands them on to its nodes."""
OTHER_ENGINE = {"DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONFIG"}
PROBE = "localhost/paceline-probe:1"


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine, and how to reach it and what runs on it."""

    program: Path
    """The docker client."""
    kind_program: Path
    host: str | None
    """Its DOCKER_HOST; None leaves it to the user's own settings."""
    namespace: Namespace | None
    """Where the engine and its published ports are; None for the machine's own network."""

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
        merged = {**os.environ, "PATH": path, "KIND_EXPERIMENTAL_PROVIDER": "docker"}
        if self.host is None:
            return merged
        ours = {key: value for key, value in merged.items() if key.lower() not in PROXIES and key not in OTHER_ENGINE}
        return ours | {"DOCKER_HOST": self.host}

    def exports(self) -> list[str]:
        """What a person pastes into a shell."""
        if self.host is None:
            return []
        return [f"export DOCKER_HOST={self.host}", f"export PATH={self.program.parent}:$PATH"]

    def docker(
        self, *arguments: str | Path, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a docker command; a failure is an error with docker's own words, unless the caller wants to look."""
        return self._run("docker", arguments, [self.program, *arguments], stdin, check)

    def kind(
        self, *arguments: str | Path, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a kind command inside the engine's network."""
        return self._run("kind", arguments, self.inside([self.kind_program, *arguments]), stdin, check)

    def _run(
        self, name: str, arguments: Sequence[str | Path], command: Sequence[str | Path], stdin: str | None, check: bool
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, input=stdin, env=self.client_environment(), capture_output=True, text=True, check=False
        )
        if check and done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines() or [f"status {done.returncode}"]
            raise DevError(f"{name} {' '.join(map(str, arguments[:2]))} failed: {said[-1]}")
        return done


def find_engine(report: Reporter) -> Engine:
    """An engine that runs containers; the local one is started if need be (2 s, a minute the first time)."""
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", "docker", "local"):
        raise DevError(f'{CHOICE} is "{choice}": use docker, local, or leave it out')
    lack = f"{CHOICE} is local" if choice == "local" else ""
    kind_program = find_kind(report)
    if not lack:
        found = users_engine(kind_program)
        if isinstance(found, Engine):
            return found
        if choice == "docker":
            raise DevError(f"{found}: start Docker, or unset {CHOICE}")
        lack = found
    here = places()
    return on_local(here, ensure_running(here, lack, report), kind_program)


def on_local(here: Places, packages: Path, kind_program: Path) -> Engine:
    """Our own engine, which runs already."""
    return Engine(packages / "bin" / "docker", kind_program, f"unix://{here.docker_socket}", Namespace.of(here))


def users_engine(kind_program: Path) -> Engine | str:
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
    found = Engine(Path(program), kind_program, None, None)
    return judge_info(asked.returncode, asked.stdout) or _probe(found) or found


def _probe(engine: Engine) -> str:
    """Run one privileged container, of an image that nobody needs to pull: some engines answer and cannot run."""
    try:
        packed = subprocess.run(
            ["tar", "-c", "-C", engine.kind_program.parent, engine.kind_program.name], capture_output=True, check=True
        )
        subprocess.run(
            [engine.program, "import", "-", PROBE], input=packed.stdout, capture_output=True, check=True, timeout=60
        )
        command = f"/{engine.kind_program.name}"
        run = engine.docker("run", "--rm", "--privileged", "--network=none", PROBE, command, "version")
    except (subprocess.SubprocessError, DevError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        return f"the Docker engine answers but runs no privileged container ({said.decode().strip()[-200:]})"
    finally:
        engine.docker("image", "rm", "--force", PROBE, check=False)
    return "" if "kind" in run.stdout else "the Docker engine runs containers whose output does not arrive"


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
