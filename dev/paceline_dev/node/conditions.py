"""The conditions of a pod that are the kubelet's (pkg/kubelet/status/generate.go)."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from paceline_dev.node.phase import Phase
from paceline_dev.node.state import ContainerView, PodView
from paceline_dev.node.wire import Json, stamp


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, without its time: that depends on what stood there before."""

    kind: str
    status: bool
    reason: str = ""
    message: str = ""


def conditions_of(pod: PodView, phase: Phase) -> list[Condition]:
    """In the kubelet's order. PodScheduled is the scheduler's, and stays as it is."""
    ready = _containers_ready(pod, phase)
    found = [
        Condition("PodReadyToStartContainers", bool(pod.address) and not pod.terminal),
        _initialized(pod, phase),
        Condition("Ready", ready.status, ready.reason, ready.message),
        ready,
    ]
    if pod.verdict and pod.verdict.disruption and phase.over:
        found.append(Condition("DisruptionTarget", True, "TerminationByKubelet", pod.verdict.message))
    return found


def _containers_ready(pod: PodView, phase: Phase) -> Condition:
    if phase is Phase.SUCCEEDED:
        return Condition("ContainersReady", False, "PodCompleted")
    if phase is Phase.FAILED:
        return Condition("ContainersReady", False, "PodFailed")
    counted = [*(each for each in pod.init if each.spec.sidecar), *pod.main]
    if unready := _names(each for each in counted if not each.ready):
        return Condition("ContainersReady", False, "ContainersNotReady", f"containers with unready status: {unready}")
    return Condition("ContainersReady", True)


def _initialized(pod: PodView, phase: Phase) -> Condition:
    if phase is Phase.SUCCEEDED:
        return Condition("Initialized", True, "PodCompleted")
    incomplete = _names(each for each in pod.init if not (each.started if each.spec.sidecar else each.ready))
    if pod.any_main_started or not incomplete:
        return Condition("Initialized", True)
    return Condition(
        "Initialized", False, "ContainersNotInitialized", f"containers with incomplete status: {incomplete}"
    )


def _names(views: Iterable[ContainerView]) -> str:
    """Names as Go prints a list of them; empty if there are none."""
    names = " ".join(each.spec.name for each in views)
    return f"[{names}]" if names else ""


def as_json(wanted: Condition, before: list[Json], generation: int, now: datetime.datetime) -> Json:
    """As a patch: a reason that is gone is said, or it would stay. The time is that of the last change."""
    status = "True" if wanted.status else "False"
    old = next((each for each in before if each["type"] == wanted.kind), None)
    same = old is not None and old["status"] == status and old.get("lastTransitionTime")
    return {
        "type": wanted.kind,
        "status": status,
        "observedGeneration": generation,
        "lastProbeTime": None,
        "lastTransitionTime": old["lastTransitionTime"] if old and same else stamp(now),
        "reason": wanted.reason or None,
        "message": wanted.message or None,
    }
