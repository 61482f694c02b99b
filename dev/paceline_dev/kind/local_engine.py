"""Starts and stops our own containerd and dockerd, only ever inside the closed network namespace."""

import contextlib
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from paceline.testing.scratch import last_words
from paceline_dev.cache import locked
from paceline_dev.errors import DevError
from paceline_dev.kind import daemons, sweep
from paceline_dev.kind.containment import require_contained
from paceline_dev.kind.host import require_local_engine
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.packages import tool_environment, unpacked
from paceline_dev.kind.places import Places
from paceline_dev.progress import Reporter

LABEL = "dev.paceline.engine"
"""On the engine itself: `docker info` then tells ours from the user's."""
START_SECONDS = 60.0
POLL_SECONDS = 0.1
NOWHERE = "127.0.0.253"
"""A name server for containers that answers nothing: there is no world to look names up in."""
BRIDGE = "172.31.250.1/24"


def ensure_running(places: Places, why: str, report: Reporter) -> Path:
    """Start the engine unless it runs, and return the folder of its unpacked packages."""
    require_local_engine(places, why)
    packages = unpacked(places, report)
    with locked(places.lock, report.line):
        if not answers(places, packages):
            with report.task(f"{why}: starting an engine in the closed network {places.namespace}"):
                _start(places, packages)
        require_closed(places)
    return packages


def require_closed(places: Places) -> None:
    """Stop an engine whose network has a way out, at once: what it leaks cannot be taken back. Its images stay."""
    try:
        require_contained(Namespace.of(places), sandboxes(places))
    except DevError:
        _clear_remains(places)
        raise


def sandboxes(places: Places) -> Path:
    """Where dockerd mounts the network namespaces of its containers."""
    return places.run / "docker" / "netns"


def stop(places: Places) -> None:
    """End the engine and remove everything of it but the caches."""
    sweep.stop_processes(places)
    sweep.remove_state(places)


def _start(places: Places, packages: Path) -> None:
    _clear_remains(places)
    for folder in (places.run, places.data, places.logs):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    namespace = Namespace.of(places)
    namespace.create()
    require_contained(namespace, sandboxes(places))
    environment = tool_environment(packages)
    (places.run / "containerd.toml").write_text(containerd_config(places))
    recipes = {
        "containerd": ["containerd", "--config", str(places.run / "containerd.toml")],
        "dockerd": dockerd_command(places),
    }
    ready: dict[str, Callable[[], bool]] = {
        "containerd": places.containerd_socket.is_socket,
        "dockerd": lambda: answers(places, packages),
    }
    try:
        for name, recipe in recipes.items():
            log = places.logs / f"{name}.log"
            log.unlink(missing_ok=True)
            record = daemons.start(namespace.inside(recipe), places.run / f"{name}.process", log, environment)
            deadline = time.monotonic() + START_SECONDS
            while not ready[name]():
                _refuse_dead(name, record, log, deadline)
                time.sleep(POLL_SECONDS)
            _require_inside(name, record, namespace)
    except BaseException:
        stop(places)
        raise


def _clear_remains(places: Places) -> None:
    """Of an engine that was killed: its containers cannot be taken over, its images can."""
    sweep.stop_processes(places)
    sweep.remove_run(places)


def _refuse_dead(name: str, record: daemons.Record, log: Path, deadline: float) -> None:
    if not record.alive():
        raise DevError(f"{name} ended while starting: {last_words(log.read_text(errors='replace'))} (log: {log})")
    if time.monotonic() > deadline:
        raise DevError(f"{name} was not ready after {START_SECONDS:.0f} s (log: {log})")


def _require_inside(name: str, record: daemons.Record, namespace: Namespace) -> None:
    """An engine outside of its namespace is the one thing that must not happen."""
    if Path(f"/proc/{record.pid}/ns/net").stat().st_ino != namespace.number():
        raise DevError(f"{name} does not run in the network namespace {namespace.name}: it has been stopped")


def answers(places: Places, packages: Path) -> bool:
    """Whether our own dockerd serves the socket, from inside the namespace."""
    namespace = Namespace.of(places)
    records = [daemons.read_record(places.run / f"{name}.process") for name in sweep.DAEMONS]
    if not namespace.exists() or not all(record and record.alive() for record in records):
        return False
    command = [str(packages / "bin/docker"), "--host", f"unix://{places.docker_socket}", "version", "--format", "ok"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, capture_output=True, check=False, timeout=START_SECONDS).returncode == 0
    return False


def containerd_config(places: Places) -> str:
    """Version 2 is what containerd 1.7 reads; the Kubernetes plugin would want a CNI of the machine's."""
    return "\n".join(
        [
            "version = 2",
            f'root = "{places.data}/containerd"',
            f'state = "{places.run}/containerd"',
            'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
            f'[grpc]\n  address = "{places.containerd_socket}"',
            f'[ttrpc]\n  address = "{places.containerd_socket}.ttrpc"',
            "",
        ]
    )


def dockerd_command(places: Places) -> list[str]:
    """All of its state in our folders, nothing read from the machine's /etc/docker."""
    options = {
        "config-file": "/dev/null",
        "host": f"unix://{places.docker_socket}",
        "data-root": places.data / "docker",
        "exec-root": places.run / "docker",
        "pidfile": places.run / "docker.pid",
        "containerd": places.containerd_socket,
        "storage-driver": "overlay2",
        "cgroup-parent": f"/{places.cgroup}",
        "bip": BRIDGE,
        "dns": NOWHERE,
        "label": f"{LABEL}={places.tag}",
    }
    return ["dockerd", *(f"--{name}={value}" for name, value in options.items())]
