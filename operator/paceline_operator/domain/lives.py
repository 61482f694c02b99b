"""Runners with all that belongs to them: the object, its pods, and how the database knows them."""

from collections import defaultdict
from dataclasses import dataclass

from paceline_operator.domain.names import boot_of
from paceline_operator.domain.seen import GroupSeen, PodSeen, Registration, RunnerSeen
from paceline_operator.domain.taints import drain_in


@dataclass(frozen=True, slots=True)
class Life:
    """One Runner with everything that belongs to it."""

    runner: RunnerSeen
    pods: tuple[PodSeen, ...]
    """Newest first."""
    registrations: tuple[Registration, ...]
    benched: bool = False
    """A Drain taint is on it: it finishes, gives up its pod and counts for nothing until the taint is gone."""

    @property
    def retiring(self) -> bool:
        """It was chosen to go."""
        return any(each.retiring for each in self.registrations)

    @property
    def held(self) -> int:
        """Jobs that it has."""
        return sum(each.held for each in self.registrations)

    @property
    def staying(self) -> bool:
        """It counts for the size of its group."""
        return not self.runner.deleting and not self.retiring and not self.benched

    @property
    def rests(self) -> bool:
        """A Drain taint has taken effect: it has given up its pod and waits for the taint to go."""
        return self.benched and not self.pods and not self.retiring and not self.runner.deleting

    @property
    def pod(self) -> PodSeen | None:
        """The newest one."""
        return self.pods[0] if self.pods else None

    def registration_of(self, pod: PodSeen) -> Registration | None:
        """How a pod is known to the database."""
        return next((each for each in self.registrations if each.pod_uid == pod.uid), None)

    @property
    def working(self) -> Registration | None:
        """The registration of its newest pod, if that may claim; the pod may have been told to go."""
        found = None if self.pod is None or self.pod.ended else self.registration_of(self.pod)
        return found if found is not None and found.working else None

    @property
    def serving(self) -> Registration | None:
        """What may claim in its name now, and go on doing so."""
        return self.working if self.pod is not None and self.pod.live else None

    @property
    def came_to_life(self) -> frozenset[str]:
        """UIDs of its pods that have registered, now or before."""
        now = {each.pod_uid for each in self.registrations if each.pod_uid is not None}
        told = {
            pod.uid for pod in self.pods if pod.name == self.runner.pod_name and self.runner.incarnation is not None
        }
        return frozenset(now | told)

    @property
    def has_pod(self) -> bool:
        """It has a pod that works, starts, or can still come to it. One that drains is on its way out."""
        if self.pod is None or not self.pod.live:
            return False
        known = self.registration_of(self.pod)
        return known is None or known.state == "active"

    @property
    def revision(self) -> str:
        """The revision that it is of, by its newest pod or by what was last told of it; empty if it never had one."""
        return self.pod.revision if self.pod is not None else self.runner.revision

    @property
    def finishing(self) -> bool:
        """A pod of it is on its way out and has not ended, whether another has taken its place or not."""
        gone = self.pods if self.serving is None and not self.has_pod else self.pods[1:]
        return any(not pod.ended and pod.uid in self.came_to_life for pod in gone)

    @property
    def next_boot(self) -> int:
        """The number of its next pod: above all that there are, and above the last one that is on record."""
        told = boot_of(self.runner.pod_name or "", self.runner.name)
        return max([told, *(pod.boot for pod in self.pods)]) + 1


def lives_of(seen: GroupSeen) -> tuple[Life, ...]:
    """The group's own Runners; those outside the cluster have no pods and are nobody's to start or stop."""
    pods: dict[str, list[PodSeen]] = defaultdict(list)
    for pod in seen.pods:
        pods[pod.runner].append(pod)
    rows: dict[str, list[Registration]] = defaultdict(list)
    for row in seen.registrations or ():
        rows[row.runner].append(row)
    drained = seen.drained
    return tuple(
        Life(
            runner,
            tuple(sorted(pods[runner.name], key=lambda each: (-each.boot, each.name))),
            tuple(rows[runner.name]),
            drained or runner.declared.drains or any(drain_in(row.taints) for row in rows[runner.name]),
        )
        for runner in sorted(seen.runners, key=lambda each: each.name)
        if runner.owned and not runner.external
    )
