"""A kind cluster that runs, and what one does with it."""

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.kind.engine import Engine
from paceline_dev.kind.loaded import build_of, has_build, note_build
from paceline_dev.kubectl import Kubectl

DEFAULT_NAME = "paceline"
WRAPPER = "paceline-cluster"
GATEWAYS = "{{range .IPAM.Config}}{{.Gateway}} {{end}}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs."""

    name: str
    kubeconfig: Path
    engine: Engine
    kubectl_program: Path
    bin: Path
    """A folder with kind, and with the wrapper that enters the cluster's network."""

    @property
    def nodes(self) -> list[str]:
        """The names of its nodes, which are those of its containers."""
        return sorted(self.engine.kind("get", "nodes", "--name", self.name).stdout.split())

    @property
    def machine(self) -> str:
        """The address by which pods reach the machine that the nodes run on."""
        found = self.engine.docker("network", "inspect", "kind", "--format", GATEWAYS).stdout.split()
        return next(each for each in found if ":" not in each)  # pods have IPv4 only

    def load(self, image: str) -> None:
        """Copy an image from the engine to the nodes that do not have this build of it."""
        build = build_of(self.engine, image)
        lack = [node for node in self.nodes if not has_build(self.engine, node, image, build)]
        if not lack:
            return
        self.engine.kind("load", "docker-image", image, "--name", self.name, "--nodes", ",".join(lack))
        if build_of(self.engine, image) == build:  # else somebody has built another one meanwhile
            for node in lack:
                note_build(self.engine, node, image, build)

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl where the API server can be reached."""
        inside = tuple(self.engine.inside([]))
        return Kubectl(self.kubectl_program, self.kubeconfig, inside).run(*arguments, stdin=stdin, check=check)

    def exports(self) -> list[str]:
        """What a person pastes into a shell."""
        path = [self.bin, self.kubectl_program.parent, *([self.engine.program.parent] if self.engine.local else [])]
        host = [f"export DOCKER_HOST={self.engine.host}"] if self.engine.host else []
        return [f"export KUBECONFIG={self.kubeconfig}", *host, f"export PATH={':'.join(map(str, path))}:$PATH"]

    def write_bin(self) -> None:
        """kind, and a command that a person can put before another to run it where the cluster is."""
        self.bin.mkdir(parents=True, exist_ok=True)
        kind = self.bin / "kind"
        kind.unlink(missing_ok=True)
        kind.symlink_to(self.engine.kind_program)
        wrapper = self.bin / WRAPPER
        script = [
            "#!/bin/sh",
            f"# Runs a command where the cluster can be reached: {WRAPPER} kubectl get pods",
            *self.exports(),
            f'exec {shlex.join([*self.engine.inside([]), "env"])} "$@"',
        ]
        wrapper.write_text("\n".join(script) + "\n")
        wrapper.chmod(0o755)
