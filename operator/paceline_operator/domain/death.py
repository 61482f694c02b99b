"""Who is dead, and of what. A deletion is a drain and no death; a node that does not answer is left to the lease."""

from paceline_operator.domain.actions import Fence
from paceline_operator.domain.seen import GroupSeen, PodSeen, Registration

GONE = "PodGone"
NODE_LOST = "NodeLost"


def cause_of_death(pod: PodSeen) -> str:
    """One word for the attempts that ended with this pod."""
    if pod.disrupted == "PreemptionByScheduler":
        return "Preempted"
    if pod.disrupted or pod.end_reason == "Evicted":
        return "Evicted"
    if pod.end_reason == "OOMKilled":
        return "OOMKilled"
    return "Completed" if pod.exit_code == 0 else "Error"


def find_dead(seen: GroupSeen, registrations: tuple[Registration, ...]) -> Fence | None:
    """Registrations whose runner's container has ended, or whose pod is not there any more.

    The registrations must have been read before the pods: a pod is there before its runner can register.
    """
    pods = {pod.uid: pod for pod in seen.pods}
    causes: dict[str, str] = {}
    for each in registrations:
        if each.pod_uid is None or each.incarnation is None:
            continue
        pod = pods.get(each.pod_uid)
        if pod is None:
            causes[each.pod_uid] = GONE
        elif pod.ended:
            causes[each.pod_uid] = cause_of_death(pod)
    return Fence(causes) if causes else None


def find_suspects(seen: GroupSeen) -> frozenset[str]:
    """Pods on nodes that do not answer."""
    return frozenset(
        pod.uid for pod in seen.pods if not pod.ended and pod.node in seen.nodes and not seen.nodes[pod.node].ready
    )
