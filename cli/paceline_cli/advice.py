"""How a group stands in words, and what to do about it. Values in, words out: no cluster is asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paceline_operator.api.meta import Condition
    from paceline_operator.api.v1alpha1 import RunnerGroup

STEPS: Final = {
    "SecretMissing": "make the Secret that spec.database.secretRef names, with a key url",
    "SecretInvalid": "correct the url in the Secret that spec.database.secretRef names",
    "Unreachable": "look whether the database is up, and whether the url in its Secret is right",
    "SchemaTooOld": "run: paceline migrate --database-url URL, as the schema's owner",
    "Refused": "do what the message says, or choose another spec.pool",
    "PoolConflict": "give one of the groups another pool, or dispatch: Shared to both",
    "InvalidTaint": "run: kubectl paceline untaint group/{name} --all -n {namespace}, or correct the annotation",
    "InvalidSpec": "correct the field that the message names: kubectl -n {namespace} edit rgrp {name}",
    "TemplateInvalid": "correct spec.template: kubectl -n {namespace} edit rgrp {name}",
    "TemplateRefused": "correct spec.template: kubectl -n {namespace} edit rgrp {name}",
    "CannotStart": "look at the pods: kubectl -n {namespace} describe pods -l paceline.dev/group={name}",
    "RunnersFailing": "read what the pods say: kubectl -n {namespace} logs -l paceline.dev/group={name}",
    "QuotaExceeded": "raise the namespace's quota, or lower autoscaling.maxReplicas",
    "RolloutStalled": "wait for the job that the message names, or cancel it: kubectl paceline jobs cancel ID",
    "RolloutStopped": "correct spec.template, or go back: kubectl paceline rollout undo {name} -n {namespace}",
    "RolledBack": "correct spec.template, or go back for good: kubectl paceline rollout undo {name} -n {namespace}",
    "RolloutPaused": "run: kubectl paceline rollout resume {name} -n {namespace}",
    "NobodyEligible": "see which taints forbid it: kubectl -n {namespace} get rnr -o wide",
    "QueueUnreadable": "see QueueReachable: until then the size stays, or follows autoscaling.fallback",
    "InvalidAutoscaling": "correct what the message names: kubectl -n {namespace} edit rgrp {name}",
    "Paused": "run: kubectl paceline resume {name} -n {namespace}",
    "Drained": "run: kubectl paceline undrain group/{name} -n {namespace}",
}
"""By the reason of a condition that is not as one would have it."""
GOOD_WHEN_TRUE: Final = ("QueueReachable", "TaintsApplied", "Ready", "Available", "Progressing", "LeaderElected",
                         "ScalingActive")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that wants somebody, and the next step."""

    what: str
    step: str


def troubles(group: "RunnerGroup") -> list[Trouble]:
    """What is not as one would have it, the cause before what follows from it; each step once."""
    found: dict[str, Trouble] = {}
    for each in _all(group):
        found.setdefault(each.step, each)
    return list(found.values())


def _all(group: "RunnerGroup") -> Iterator[Trouble]:
    names = {"name": group.metadata.name, "namespace": group.metadata.namespace}
    status, queue = group.status, group.status.queue
    by_type = {each.type: each for each in status.conditions}
    if not status.conditions or (status.observed_generation or 0) < group.metadata.generation:
        yield Trouble(
            "the operator has not seen the group as it is now",
            "look whether it runs: kubectl get pods -A -l app.kubernetes.io/component=operator",
        )
    if (paused := by_type.get("Paused")) and paused.status == "True":
        yield Trouble("it is paused", STEPS["Paused"].format(**names))
    for kind in GOOD_WHEN_TRUE:
        condition = by_type.get(kind)
        if condition is not None and condition.status != "True" and condition.reason in STEPS:
            yield Trouble(sentence(condition), STEPS[condition.reason].format(**names))
    if queue and queue.unclaimable:
        yield Trouble(
            f"{queue.unclaimable:,} jobs that no runner could take",
            f"see why: kubectl paceline explain {names['name']} -n {names['namespace']}",
        )
    if (limited := by_type.get("ScalingLimited")) and limited.status == "True":
        yield Trouble(
            sentence(limited), f"see why: kubectl paceline explain {names['name']} -n {names['namespace']}"
        )  # fmt: skip
    if queue and queue.dead:
        yield Trouble(f"{queue.dead:,} dead letters", f"look at them: paceline dead list -p {status.pool}")


def sentence(condition: "Condition") -> str:
    """A condition as people say it."""
    return f"{condition.type}: {condition.message or condition.reason}"


def rollout(group: "RunnerGroup") -> str:
    """How far an update is, in a word or two."""
    status = group.status
    if status.failed_revision and status.failed_revision == status.update_revision:
        return "failed"
    if not status.update_revision or status.update_revision == status.current_revision:
        return "done" if status.current_revision else "-"
    return f"{status.updated_replicas or 0} of {status.replicas or 0}"


def state(group: "RunnerGroup") -> str:
    """The reason of Ready: the shortest answer to how it is."""
    if group.metadata.deletion_timestamp is not None:
        return "Deleting"
    ready = next((each for each in group.status.conditions if each.type == "Ready"), None)
    return "Unknown" if ready is None else ready.reason
