"""Runs `kind create` and waits until the cluster is of use."""

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path

from paceline_dev.cache import require_space
from paceline_dev.errors import DevError
from paceline_dev.kind import daemons
from paceline_dev.kind import record as records
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.config import kind_config
from paceline_dev.kind.engine import CHOICE, Engine
from paceline_dev.kind.host import CLUSTER_SPACE, require_memory
from paceline_dev.kind.node_image import ensure_node_image
from paceline_dev.kind.places import Places
from paceline_dev.kind.record import Record
from paceline_dev.progress import Reporter

READY_SECONDS = 300
SYSTEM = ("daemonset/kube-proxy", "deployment/coredns")


def prepare(engine: Engine, here: Places, report: Reporter) -> str | None:
    """See whether there is room for a cluster, and have its node image; None leaves the image to kind."""
    require_memory()
    if not engine.local:
        return None
    require_space(here.cache, CLUSTER_SPACE, "a cluster")
    return ensure_node_image(engine, here, report)


def create_cluster(cluster: Cluster, here: Places, workers: int, image: str | None, report: Reporter) -> None:
    """Make it; what is half-made when this fails is removed at once, when this is killed by the next run."""
    engine = cluster.engine
    records.write(here, Record(cluster.name, engine.local, workers, ready=False))
    nodes = f"{workers + 1} node{'s' if workers else ''}"
    log = here.logs / f"kind-{cluster.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with report.task(f"creating cluster {cluster.name} of {nodes}") as task:
            options = ["--name", cluster.name, "--config", "-", "--wait", f"{READY_SECONDS}s"]
            if image is not None:
                options += ["--image", image]
            command = ["create", "cluster", *options, "--kubeconfig", str(cluster.kubeconfig)]
            record = here.run / "kind.process" if engine.local else None
            _run_kind(engine, command, kind_config(workers, engine.local), record, log, task.advance)
            task.advance("waiting for nodes, kube-proxy and CoreDNS")
            _wait_for_system(cluster)
    except BaseException:
        with contextlib.suppress(DevError):  # what went wrong first is what matters
            remove_cluster(cluster, here)
        raise
    cluster.write_bin()
    records.write(here, Record(cluster.name, engine.local, workers, ready=True))


def _run_kind(
    engine: Engine, arguments: list[str], config: str, record: Path | None, log: Path, seen: Callable[[str], None]
) -> None:
    """Run kind and hand over what it says; a failure is its last error.

    It is recorded, because it may outlive this process and go on making nodes.
    """
    command = engine.inside([engine.kind_program, *arguments])
    with (
        log.open("w", buffering=1) as written,
        subprocess.Popen(
            daemons.recording(command, record) if record else command,
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
    """Kind waits for the control plane only."""
    cluster.kubectl("wait", "nodes", "--all", "--for=condition=Ready", f"--timeout={READY_SECONDS}s")
    for workload in SYSTEM:
        cluster.kubectl("-n", "kube-system", "rollout", "status", workload, f"--timeout={READY_SECONDS}s")
    log = cluster.kubectl("-n", "kube-system", "logs", "daemonset/kube-proxy", "--tail=-1").stdout
    if bad := [line for line in log.splitlines() if "Sync failed" in line or "Failed to execute" in line]:
        raise DevError(f"kube-proxy cannot write its rules, so Services would not work: {bad[-1].strip()}")


def remove_cluster(cluster: Cluster, here: Places) -> None:
    """Remove its nodes, whatever state they are in, and what is known about it."""
    cluster.engine.kind("delete", "cluster", "--name", cluster.name, "--kubeconfig", str(cluster.kubeconfig))
    records.forget(here, cluster.name)
