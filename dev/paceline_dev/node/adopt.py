"""What a node finds of pods that ran under its predecessor: their processes are gone, and only the API remembers."""

from dataclasses import replace

from paceline_dev.node.spec import Container, Pod, RestartPolicy
from paceline_dev.node.state import KILLED, NOT_LOCATED, UNKNOWN, USED_TO_RUN, ContainerView, Terminated, first_view
from paceline_dev.node.wire import Json, moment


def adopted_views(pod: Pod, status: Json) -> tuple[tuple[ContainerView, ...], tuple[ContainerView, ...]]:
    """Init and main containers as a restarted kubelet sees them.

    Who has ended stays ended. Who ran is lost: it waits, and was last killed for an unknown reason
    (kubelet_pods.go: convertToAPIContainerStatuses).
    """
    known = {
        each["name"]: each for key in ("initContainerStatuses", "containerStatuses") for each in status.get(key) or ()
    }

    def view(spec: Container) -> ContainerView:
        return _adopt(first_view(spec, has_init=bool(pod.init)), known.get(spec.name))

    init, main = tuple(view(each) for each in pod.init), tuple(view(each) for each in pod.main)
    if all(each.done for each in main) or pod.restart is RestartPolicy.NEVER:
        return init, main
    return tuple(_again(each) for each in init), main


def _adopt(fresh: ContainerView, old: Json | None) -> ContainerView:
    if old is None:
        return fresh
    last = (old.get("lastState") or {}).get("terminated")
    kept = replace(
        fresh,
        last=_terminated(last) if last else None,
        restarts=old.get("restartCount", 0),
        container_id=old.get("containerID", ""),
    )
    state = old.get("state") or {}
    if "terminated" in state:
        return kept.terminated(_terminated(state["terminated"]))
    if "running" not in state:
        return kept
    lost = Terminated(KILLED, UNKNOWN, USED_TO_RUN)
    gone = replace(kept, last=kept.last or lost, restarts=kept.restarts + 1, container_id="")
    if fresh.spec.restart.wants(KILLED):
        return gone
    return gone.terminated(Terminated(KILLED, UNKNOWN, NOT_LOCATED))


def _again(view: ContainerView) -> ContainerView:
    """A pod that is started anew is initialised anew: its network was lost with its processes."""
    if not isinstance(view.state, Terminated):
        return view
    return replace(view.waiting("PodInitializing"), restarts=view.restarts + 1)


def _terminated(end: Json) -> Terminated:
    return Terminated(
        code=end["exitCode"],
        reason=end.get("reason", ""),
        message=end.get("message", ""),
        started=moment(end["startedAt"]) if end.get("startedAt") else None,
        finished=moment(end["finishedAt"]) if end.get("finishedAt") else None,
        container_id=end.get("containerID", ""),
    )
