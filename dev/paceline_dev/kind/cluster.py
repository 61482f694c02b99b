"""kind clusters on the engine that was found: made, reused, loaded with images, and removed without a trace."""

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.binaries import find_binaries
from paceline_dev.cache import locked, require_space
from paceline_dev.errors import DevError
from paceline_dev.kind import record as records
from paceline_dev.kind.config import kind_config
from paceline_dev.kind.containment import require_contained
from paceline_dev.kind.engine import CHOICE, Engine
from paceline_dev.kind.host import CLUSTER_SPACE, require_memory
from paceline_dev.kind.local_engine import sandboxes
from paceline_dev.kind.node_image import ensure_node_image
from paceline_dev.kind.places import Places, places
from paceline_dev.kind.record import Record
from paceline_dev.progress import Reporter

DEFAULT_NAME = "paceline"
READY_SECONDS = 300
WRAPPER = "paceline-cluster"
SYSTEM = ("daemonset/kube-proxy", "deployment/coredns")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs."""

    name: str
    kubeconfig: Path
    engine: Engine
    kubectl_program: Path
    bin: Path
    """A folder with the wrapper that enters the cluster's network."""

    @property
    def nodes(self) -> list[str]:
        """The names of its nodes, which are those of its containers."""
        return sorted(self.engine.kind("get", "nodes", "--name", self.name).stdout.split())

    def load(self, image: str) -> None:
        """Copy an image from the engine to all nodes."""
        self.engine.kind("load", "docker-image", image, "--name", self.name)

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl where the API server can be reached."""
        done = subprocess.run(
            self.engine.inside([self.kubectl_program, *arguments]),
            input=stdin,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise DevError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def exports(self) -> list[str]:
        """What a person pastes into a shell."""
        path = [self.bin, self.kubectl_program.parent, *([self.engine.program.parent] if self.engine.local else [])]
        host = [f"export DOCKER_HOST={self.engine.host}"] if self.engine.host else []
        return [f"export KUBECONFIG={self.kubeconfig}", *host, f"export PATH={':'.join(map(str, path))}:$PATH"]


def ensure_cluster(engine: Engine, name: str, workers: int, report: Reporter) -> Cluster:
    """The cluster of that name: as it is if it works, made anew if it does not or was never finished."""
    records.check_name(name)
    here = places()
    kubectl = find_binaries(report).kubectl
    with locked(here.lock, report.line):
        cluster = Cluster(name, here.kubeconfig(name), engine, kubectl, records.folder(here, name) / "bin")
        if _reusable(cluster, here, workers, report):
            report.line(f"cluster {name} runs already")
        else:
            _create(cluster, here, workers, report)
        _require_closed(engine, here)
    return cluster


def _reusable(cluster: Cluster, here: Places, workers: int, report: Reporter) -> bool:
    """Whether it can be used as it is; remains of one that cannot are removed first."""
    known = records.read(here, cluster.name)
    exists = cluster.name in cluster.engine.kind("get", "clusters").stdout.split()
    if known is not None and known.local != cluster.engine.local:
        if known.ready and not known.local:
            raise DevError(
                f"cluster {cluster.name} was made on the machine's Docker, which is not the engine in use now: "
                f"start Docker, or choose another name with --name"
            )
        records.forget(here, cluster.name)
        known = None
    if exists and known is None:
        raise DevError(
            f"there is a kind cluster {cluster.name} that Paceline did not make: choose another name with --name, "
            f"or remove it with `kind delete cluster --name {cluster.name}`"
        )
    if known is None:
        return False
    lack = _lack(cluster, known, exists)
    if not lack and known.workers != workers:
        raise DevError(
            f"cluster {cluster.name} has {known.workers + 1} node(s), not {workers + 1}: run `make cluster-delete` "
            "first, or choose another name with --name"
        )
    if lack:
        report.line(f"cluster {cluster.name} {lack}: removing what is left of it")
        _remove(cluster, here)
    return not lack


def _lack(cluster: Cluster, known: Record, exists: bool) -> str:
    if not known.ready:
        return "was left half-made by a run that was killed"
    if not exists:
        return "is gone from its engine"
    if len(cluster.nodes) != known.workers + 1:
        return "has lost a node"
    answer = cluster.kubectl("get", "--raw", "/readyz", "--request-timeout=10s", check=False)
    return "" if answer.stdout.strip() == "ok" else "does not answer"


def _create(cluster: Cluster, here: Places, workers: int, report: Reporter) -> None:
    require_memory()
    engine = cluster.engine
    if engine.local:
        require_space(here.cache, CLUSTER_SPACE, "a cluster")
    image = ["--image", ensure_node_image(engine, here, report)] if engine.local else []
    records.write(here, Record(cluster.name, engine.local, workers, ready=False))
    nodes = f"{workers + 1} node{'s' if workers else ''}"
    log = here.logs / f"kind-{cluster.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with report.task(f"creating cluster {cluster.name} of {nodes}") as task:
            options = ["--name", cluster.name, "--config", "-", "--wait", f"{READY_SECONDS}s"]
            command = ["create", "cluster", *options, "--kubeconfig", str(cluster.kubeconfig), *image]
            _run_kind(engine, command, kind_config(workers, engine.local), log, task.advance)
            if engine.local:
                task.advance("waiting for kube-proxy and CoreDNS")
                _wait_for_system(cluster)
    except BaseException:
        _remove(cluster, here)
        raise
    _write_wrapper(cluster)
    records.write(here, Record(cluster.name, engine.local, workers, ready=True))


def _run_kind(engine: Engine, arguments: list[str], config: str, log: Path, seen: Callable[[str], None]) -> None:
    """Run kind and hand over what it says; a failure is its last error."""
    with (
        log.open("w") as written,
        subprocess.Popen(
            engine.inside([engine.kind_program, *arguments]),
            env=engine.client_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(config)
        process.stdin.close()
        try:
            for line in process.stdout:
                written.write(line)
                seen(line.strip(" •✓✗…\n"))
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise explain_kind(log, engine.local)


def explain_kind(log: Path, local: bool) -> DevError:
    """One line for a kind that failed."""
    said = log.read_text()
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    reason = errors[0] if errors else "it said nothing"
    if not local and "pull" in reason:
        return DevError(
            f"kind cannot pull its node image ({reason}): check Docker's way to the registry, or set {CHOICE}=local "
            f"to have the image built here (log: {log})"
        )
    return DevError(f"kind could not create the cluster: {reason} (log: {log})")


def _wait_for_system(cluster: Cluster) -> None:
    for workload in SYSTEM:
        cluster.kubectl("-n", "kube-system", "rollout", "status", workload, f"--timeout={READY_SECONDS}s")
    log = cluster.kubectl("-n", "kube-system", "logs", "daemonset/kube-proxy", "--tail=-1").stdout
    if bad := [line for line in log.splitlines() if "Sync failed" in line or "Failed to execute" in line]:
        raise DevError(f"kube-proxy cannot write its rules, so Services would not work: {bad[-1].strip()}")


def _require_closed(engine: Engine, here: Places) -> None:
    if engine.namespace is not None:
        require_contained(engine.namespace, sandboxes(here))


def _remove(cluster: Cluster, here: Places) -> None:
    cluster.engine.kind("delete", "cluster", "--name", cluster.name, "--kubeconfig", str(cluster.kubeconfig))
    records.forget(here, cluster.name)


def _write_wrapper(cluster: Cluster) -> None:
    """A command that a person can put before another to run it where the cluster is."""
    cluster.bin.mkdir(parents=True, exist_ok=True)
    wrapper = cluster.bin / WRAPPER
    prefix = shlex.join(cluster.engine.inside([])[:-1]) if cluster.engine.local else ""
    wrapper.write_text(
        "#!/bin/sh\n# Runs a command where the cluster can be reached: paceline-cluster kubectl get pods\n"
        + "".join(f"{line}\n" for line in cluster.exports())
        + f'exec {prefix}{" -- " if prefix else ""}"$@"\n'
    )
    wrapper.chmod(0o755)
