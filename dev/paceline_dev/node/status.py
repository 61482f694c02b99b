"""The status of a pod as the kubelet would write it, from what is known of its containers."""

import datetime
from dataclasses import replace

from paceline_dev.node.conditions import as_json, conditions_of
from paceline_dev.node.phase import Phase, phase_of
from paceline_dev.node.state import (
    KILLED,
    NOT_LOCATED,
    UNKNOWN,
    ContainerView,
    PodView,
    Running,
    State,
    Terminated,
    Waiting,
)
from paceline_dev.node.wire import Json, stamp


def status_of(pod: PodView, before: Json, now: datetime.datetime) -> Json:
    """A strategic merge patch of the status. A pod that is over has a terminated state for each container."""
    pod = _settle(pod) if pod.terminal else pod
    phase = phase_of(pod)
    verdict = pod.verdict if phase is Phase.FAILED else None
    conditions = before.get("conditions") or []
    found: Json = {
        "observedGeneration": pod.spec.generation,
        "phase": str(phase),
        "reason": verdict.reason if verdict else None,
        "message": verdict.message if verdict else None,
        "startTime": stamp(pod.started),
        "hostIP": pod.host,
        "hostIPs": _addresses(pod.host, before.get("hostIPs")),
        "conditions": [as_json(each, conditions, pod.spec.generation, now) for each in conditions_of(pod, phase)],
        "containerStatuses": [_container(each) for each in sorted(pod.main, key=lambda each: each.spec.name)],
    }
    if pod.init:
        found["initContainerStatuses"] = [_container(each) for each in pod.init]
    if pod.address:
        found |= {"podIP": pod.address, "podIPs": _addresses(pod.address, before.get("podIPs"))}
    return found


def _settle(pod: PodView) -> PodView:
    """Containers of a pod that is over and that nobody saw end count as lost (status_manager.go: TerminatePod)."""
    init = list(pod.init)
    begun = [n for n, each in enumerate(init) if not isinstance(each.state, Waiting) or each.last]
    for n in range(max(begun, default=0) + 1 if init else 0):
        init[n] = _lost(init[n])
    initialised = (
        not init
        or pod.any_main_started
        or all(each.started or each.succeeded or isinstance(each.state, Running) for each in pod.init[-1:])
    )
    main = tuple(_lost(each) for each in pod.main) if initialised else pod.main
    return replace(pod, init=tuple(init), main=main)


def _lost(view: ContainerView) -> ContainerView:
    if isinstance(view.state, Terminated):
        return view
    return view.terminated(Terminated(KILLED, UNKNOWN, NOT_LOCATED))


def _addresses(address: str, before: list[Json] | None) -> list[Json]:
    """Lists of addresses are merged by the address, so an old one has to be taken out by name."""
    old = [{"$patch": "delete", "ip": each["ip"]} for each in before or () if each["ip"] != address]
    return [{"ip": address}, *old]


def _container(view: ContainerView) -> Json:
    found: Json = {
        "name": view.spec.name,
        "image": view.spec.image,
        "imageID": f"local/{view.spec.image}" if view.container_id else "",
        "state": _state(view.state),
        "lastState": _state(view.last) if view.last else {},
        "ready": view.ready,
        "restartCount": view.restarts,
        "started": view.started,
    }
    if view.container_id:
        found["containerID"] = view.container_id
    if view.container_id and view.spec.resources:
        found["resources"] = view.spec.resources
        if requests := view.spec.resources.get("requests"):
            found["allocatedResources"] = requests
    if view.spec.mounts:
        found["volumeMounts"] = [_mount(each) for each in view.spec.mounts]
    return found


def _mount(mount: Json) -> Json:
    found: Json = {"name": mount["name"], "mountPath": mount["mountPath"]}
    return found | {"readOnly": True, "recursiveReadOnly": "Disabled"} if mount.get("readOnly") else found


def _state(state: State) -> Json:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason} | ({"message": message} if message else {})}
        case Running(since):
            return {"running": {"startedAt": stamp(since)}}
        case Terminated():
            return {"terminated": _terminated(state)}


def _terminated(end: Terminated) -> Json:
    times = {"startedAt": end.started, "finishedAt": end.finished}
    optional = {"message": end.message, "containerID": end.container_id}
    return {
        "exitCode": end.code,
        "reason": end.reason,
        **{key: stamp(value) if value else None for key, value in times.items()},
        **{key: value for key, value in optional.items() if value},
    }
