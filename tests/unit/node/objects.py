"""Pods for tests without a cluster."""

from datetime import UTC, datetime
from typing import Any

from paceline_dev.node.spec import Pod, parse_pod
from paceline_dev.node.state import ContainerView, PodView, Running, State, Terminated, Verdict, Waiting

Json = dict[str, Any]
NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
EARLIER = datetime(2030, 1, 1, tzinfo=UTC)
CREATING, INITIALIZING = Waiting("ContainerCreating"), Waiting("PodInitializing")
RUNNING = Running(EARLIER)


def ended(code: int = 0, reason: str = "") -> Terminated:
    return Terminated(code, reason or ("Completed" if code == 0 else "Error"), "", EARLIER, NOW, "local://x")


def raw(*main: Json, init: tuple[Json, ...] = (), restart: str = "Never", **spec: object) -> Json:
    """A pod as the API server has it."""
    containers = [{"name": "main", "image": "debian"}] if not main else list(main)
    return {
        "metadata": {"namespace": "ci", "name": "story", "uid": "u-1", "generation": 2, "resourceVersion": "5"},
        "spec": {"restartPolicy": restart, "containers": containers, "initContainers": list(init), **spec},
        "status": {},
    }


def pod(restart: str = "Never", *, names: tuple[str, ...] = ("main",), steps: tuple[str, ...] = ()) -> Pod:
    """A pod with containers of those names; a step that begins with `side` is a sidecar."""
    init = tuple(
        {"name": name, "image": "debian"} | ({"restartPolicy": "Always"} if name.startswith("side") else {})
        for name in steps
    )
    return parse_pod(raw(*({"name": name, "image": "debian"} for name in names), init=init, restart=restart))


def shown(
    spec: Pod,
    *states: State | ContainerView,
    terminal: bool = False,
    verdict: Verdict | None = None,
    address: str = "127.9.0.2",
) -> PodView:
    """A view of a pod whose containers, in the order of starting, are in those states."""
    views = [state if isinstance(state, ContainerView) else view(spec, n, state) for n, state in enumerate(states)]
    cut = len(spec.init)
    return PodView(
        spec, tuple(views[:cut]), tuple(views[cut:]), address, "127.9.0.1", EARLIER, terminal, verdict
    )  # fmt: skip


def view(spec: Pod, n: int, state: State, last: Terminated | None = None) -> ContainerView:
    container = spec.containers[n]
    runs = isinstance(state, Running)
    step = container.init and not container.sidecar
    ready = state == ended(0) if step else runs
    return ContainerView(container, state, last, started=runs, ready=ready, container_id="local://x" if runs else "")
