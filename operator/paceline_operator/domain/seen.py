"""What a decision is made from: one group, its Runners, pods and registrations, as one look found them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from paceline_operator.api.core import ContainerStatus, Node, Pod
from paceline_operator.api.v1alpha1 import Runner, RunnerGroup
from paceline_operator.domain.names import (
    LABEL_GROUP,
    LABEL_LEADER,
    LABEL_REVISION,
    LABEL_RUNNER,
    RESTARTED_AT,
    RUNNER_CONTAINER,
    boot_of,
)
from paceline_operator.domain.revision import RevisionSeen
from paceline_operator.domain.scaling.decide import Decision
from paceline_operator.domain.taints import Declared, declared, drain_in

EVICT_ANNOTATIONS = ("cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt")
CANNOT_START = frozenset(
    {
        "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError",
        "CreateContainerError", "RunContainerError", "CrashLoopBackOff",
    }
)  # fmt: skip
"""Reasons of a waiting container that time alone seldom mends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """A pod of the group."""

    name: str
    uid: str
    runner: str
    """Name of the Runner that it says it is of."""
    boot: int
    created: datetime
    phase: str = "Pending"
    deleting: bool = False
    ready: bool = False
    node: str = ""
    revision: str = ""
    owner: str | None = None
    """UID of the Runner that owns it; None if nobody does."""
    exit_code: int | None = None
    """Of the runner's container, once it has ended; -1 where the pod ended and nobody says how."""
    end_reason: str = ""
    end_message: str = ""
    disrupted: str = ""
    """Who took it away, as in the reason of DisruptionTarget: EvictionByEvictionAPI, PreemptionByScheduler, …"""
    stuck: str = ""
    """Why it cannot start, in the kubelet's or the scheduler's own words; empty while all is well."""
    restarted_at: str = ""
    """What its Runner's annotation said when it was made."""
    protected: bool = False
    """It is marked as not to be moved by node consolidation."""
    astray: bool = False
    """The label by which it should be found is not there."""
    leads: bool = False
    """It is labelled as the leader."""

    @property
    def ended(self) -> bool:
        """Its runner's container has ended, or the pod as a whole: nobody works in it any more."""
        return self.exit_code is not None

    @property
    def live(self) -> bool:
        """It runs or is about to, and nobody has told it to go."""
        return not self.ended and not self.deleting


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSeen:
    """A Runner object of the group."""

    name: str
    uid: str
    external: bool = False
    owned: bool = True
    """The group made it; what was made by hand is nobody's to start or to stop."""
    deleting: bool = False
    pod_name: str | None = None
    """As its status says: the pod that was last known to have registered."""
    incarnation: int | None = None
    revision: str = ""
    """Of that pod."""
    restarted_at: str = ""
    """What its annotation says: a pod that was made for another value is restarted."""
    created: datetime | None = None
    declared: Declared = field(default_factory=lambda: Declared({}))
    """The taints that the object has."""
    resource: Runner | None = None
    """The object itself, for what is written about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A Runner as the database knows it, with one of its live incarnations or none."""

    runner: str
    external: bool = False
    retiring: bool = False
    incarnation: int | None = None
    state: Literal["active", "draining"] | None = None
    leased: bool = False
    pod_uid: str | None = None
    hostname: str = ""
    revision: str | None = None
    registered_seconds: float = 0.0
    held: int = 0
    oldest_job_seconds: float | None = None
    oldest_job: int | None = None
    """Its number."""
    seen_seconds: float = 0.0
    """Since it was last heard of."""
    taints: str = ""
    """The effective ones."""
    declared: str = ""
    """Those that came from its object, each with its source."""
    leads: bool = False

    @property
    def working(self) -> bool:
        """It may claim."""
        return self.state == "active" and self.leased


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the attempts of one revision's runners ended."""

    ended: int = 0
    failed: int = 0

    @property
    def ratio(self) -> float:
        """The share that failed."""
        return self.failed / self.ended if self.ended else 0.0


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node that pods of ours may be on."""

    cordoned: bool = False
    ready: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen:
    """All that is known about a group at one moment."""

    group: RunnerGroup
    now: datetime
    runners: tuple[RunnerSeen, ...] = ()
    pods: tuple[PodSeen, ...] = ()
    registrations: tuple[Registration, ...] | None = ()
    """None: the database could not be asked."""
    nodes: Mapping[str, NodeSeen] = field(default_factory=dict)
    template_problem: str = ""
    """Why no pod can be made of the template."""
    hold_starts: bool = False
    """The API server has just refused to make a pod: wait before the next one."""
    revision: str = ""
    """The one that its spec describes."""
    revisions: Mapping[str, RevisionSeen] = field(default_factory=dict)
    """Those that are kept, by name."""
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    """How attempts ended since the canary came to work, by revision; empty while there is none."""
    budget: int | None = None
    """minAvailable of the PodDisruptionBudget; None if there is none."""
    kept_taints: str = ""
    """The group's own, as the database has them: whoever gave them, and also while the object's cannot be read."""
    unread: datetime | None = None
    """Since when the queue cannot be read."""
    decided: Decision | None = None
    """The size that its queue wants; None while nothing is known of it, or nobody wants to know."""

    @property
    def drained(self) -> bool:
        """All runners finish and leave, and none comes until the taint is gone."""
        return declared(self.group).drains or drain_in(self.kept_taints)


def read_runner(runner: Runner, group_uid: str) -> RunnerSeen:
    """A Runner object, as its group sees it."""
    return RunnerSeen(
        name=runner.metadata.name,
        uid=runner.metadata.uid,
        external=runner.spec.external,
        owned=any(each.uid == group_uid for each in runner.metadata.owner_references),
        deleting=runner.metadata.deletion_timestamp is not None,
        pod_name=runner.status.pod_name,
        incarnation=runner.status.incarnation,
        revision=runner.status.revision or "",
        restarted_at=runner.metadata.annotations.get(RESTARTED_AT, ""),
        created=runner.metadata.creation_timestamp,
        declared=declared(runner),
        resource=runner,
    )


def read_node(node: Node) -> NodeSeen:
    """A node; one that does not say whether it is ready is believed to be."""
    states = [each.status for each in node.status.conditions if each.type == "Ready"]
    return NodeSeen(cordoned=node.spec.unschedulable, ready=states in ([], ["True"]))


def read_pod(pod: Pod, now: datetime) -> PodSeen:
    """A pod, as far as it matters to its group."""
    meta, status = pod.metadata, pod.status
    owners = [each for each in meta.owner_references if each.controller]
    runner = owners[0].name if owners else meta.labels.get(LABEL_RUNNER, "")
    container = next((each for each in status.container_statuses if each.name == RUNNER_CONTAINER), None)
    conditions = {each.type: each for each in status.conditions}
    ready, target = conditions.get("Ready"), conditions.get("DisruptionTarget")
    code, reason, message = _end(pod, container)
    return PodSeen(
        name=meta.name,
        uid=meta.uid,
        runner=runner,
        boot=boot_of(meta.name, runner),
        created=meta.creation_timestamp or now,
        phase=status.phase,
        deleting=meta.deletion_timestamp is not None,
        ready=ready is not None and ready.status == "True",
        node=pod.spec.node_name,
        revision=meta.labels.get(LABEL_REVISION, ""),
        owner=owners[0].uid if owners else None,
        exit_code=code,
        end_reason=reason,
        end_message=message,
        disrupted=target.reason if target is not None and target.status == "True" else "",
        stuck=_stuck(pod),
        restarted_at=meta.annotations.get(RESTARTED_AT, ""),
        protected=EVICT_ANNOTATIONS[0] in meta.annotations,
        astray=LABEL_GROUP not in meta.labels or LABEL_RUNNER not in meta.labels,
        leads=LABEL_LEADER in meta.labels,
    )


def _end(pod: Pod, container: ContainerStatus | None) -> tuple[int | None, str, str]:
    """Exit code, reason and message of a pod that has ended; the pod's own reason goes before its container's."""
    status = pod.status
    ended = container.state.terminated if container is not None else None
    if ended is not None:
        return ended.exit_code, status.reason or ended.reason, status.message or ended.message
    if status.phase in ("Failed", "Succeeded"):
        return (0 if status.phase == "Succeeded" else -1), status.reason, status.message
    return None, "", ""


def _stuck(pod: Pod) -> str:
    for each in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        waiting = each.state.waiting
        if waiting is not None and waiting.reason in CANNOT_START:
            return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False" and condition.reason == "Unschedulable":
            return f"{condition.reason}: {condition.message}"
    return ""
