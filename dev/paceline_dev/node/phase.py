"""The phase of a pod, by the kubelet's own rules (pkg/kubelet/kubelet_pods.go: getPhase)."""

from enum import StrEnum

from paceline_dev.node.state import ContainerView, PodView, Running, Terminated, Waiting


class Phase(StrEnum):
    """Where a pod stands."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"

    @property
    def over(self) -> bool:
        """Whether a pod never leaves it."""
        return self in (Phase.SUCCEEDED, Phase.FAILED)


def phase_of(pod: PodView) -> Phase:
    """The phase; it is over only when nothing runs any more."""
    steps = [each for each in pod.init if not each.spec.sidecar]
    sidecars = [each for each in pod.init if each.spec.sidecar]
    if any(_failed_for_good(each) for each in steps):
        return Phase.PENDING if _runs(pod.containers) else Phase.FAILED
    pending_steps = any(not isinstance(each.state, Terminated) and not _ended_before(each) for each in steps)
    pending_sidecars = any(not each.started and not _ended(each) for each in sidecars)
    unstarted = [each for each in (*sidecars, *pod.main) if isinstance(each.state, Waiting) and each.last is None]
    if pod.terminal:
        return _final(pod)
    if pending_steps or (pending_sidecars and not pod.any_main_started) or unstarted:
        return Phase.PENDING
    if _runs((*sidecars, *pod.main)):
        return Phase.RUNNING
    if not all(_ended(each) for each in pod.main):
        return Phase.PENDING
    if any(each.spec.restart.wants(_code(each)) for each in pod.main):
        return Phase.RUNNING
    return _final(pod)


def _final(pod: PodView) -> Phase:
    if pod.verdict:
        return Phase.FAILED
    well = all(_ended(each) and _code(each) == 0 for each in pod.main)
    return Phase.SUCCEEDED if well and not any(_failed_for_good(each) for each in pod.init) else Phase.FAILED


def _failed_for_good(view: ContainerView) -> bool:
    return not view.spec.sidecar and _ended(view) and _code(view) != 0 and not view.spec.restart.wants(_code(view))


def _ended(view: ContainerView) -> bool:
    return isinstance(view.state, Terminated) or _ended_before(view)


def _ended_before(view: ContainerView) -> bool:
    return isinstance(view.state, Waiting) and view.last is not None


def _code(view: ContainerView) -> int:
    end = view.state if isinstance(view.state, Terminated) else view.last
    return end.code if end else 0


def _runs(views: tuple[ContainerView, ...] | list[ContainerView]) -> bool:
    return any(isinstance(each.state, Running) for each in views)
