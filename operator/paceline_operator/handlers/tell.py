"""Events: what happened to a group, for people. One for each decision, never one for each runner."""

import functools
from collections.abc import Iterable

from paceline_operator.api.v1alpha1 import Condition, Runner, RunnerGroup, RunnerGroupStatus, RunnerStatus
from paceline_operator.domain.actions import CreatePod, DeleteRunner, Why
from paceline_operator.domain.plan import Plan
from paceline_operator.domain.reasons import WARNINGS, Happened
from paceline_operator.domain.report_scaling import explain
from paceline_operator.domain.scaling.decide import Decision
from paceline_operator.handlers.act import Outcome
from paceline_operator.handlers.services import Services
from paceline_operator.ports.cluster import Manifest

WATCHED = ("QueueReachable", "Progressing", "LeaderElected", "Paused", "TaintsApplied", "ScalingActive")
"""Conditions whose changes are told; the others follow from these."""
CHOSEN = ("Manual", "RecommendOnly", "Paused")
"""Reasons that somebody wanted: what is not so because of them is nothing to warn of."""
NAMED = 5


async def tell_outcome(services: Services, about: Manifest, outcome: Outcome, made: Plan) -> None:
    """What was done."""
    for each in outcome.fenced:
        services.metrics.interrupted.labels(each.cause).inc(each.jobs)
        if each.jobs:
            text = f"runner {each.runner} was lost ({each.cause}): {each.jobs} jobs are claimable again"
            await _tell(services, about, Happened.RUNNER_LOST, text, "Fence")
    if outcome.created and outcome.refused is None:
        await _tell(services, about, Happened.SCALED_UP, f"created {_names(outcome.created)}", "Create")
    healed = [f"{each.runner} ({each.why})" for each in made.actions if isinstance(each, CreatePod)]
    if healed and outcome.refused is None:
        await _tell(services, about, Happened.PODS_CREATED, f"new pods for {_names(healed)}", "Create")
    if outcome.retired:
        text = f"{_names(outcome.retired)} hold no job and go"
        await _tell(services, about, Happened.SCALED_DOWN, text, "Retire")
    if outcome.drained:
        await _tell(services, about, Happened.DRAINING, f"{_names(outcome.drained)} finish and leave", "Drain")
    served = [each.name for each in made.actions if isinstance(each, DeleteRunner) and each.why is Why.SERVED]
    if served:
        await _tell(services, about, Happened.LIFETIME_SERVED, f"{_names(served)} are done", "Delete")


async def tell_decision(services: Services, about: Manifest, old: RunnerGroup, decided: Decision | None) -> None:
    """A size that the queue wants, and that the group did not have before."""
    was = old.status.recommendation.replicas if old.status.recommendation else None
    if decided is None or decided.replicas == was or old.spec.scaling_mode != "Internal":
        return
    text = f"{decided.replicas} runners{'' if was is None else f' instead of {was}'}: {explain(decided)}"
    await _tell(services, about, Happened.RESCALED, text, "Scale")


async def tell_ignored(services: Services, about: Manifest, replicas: int) -> None:
    """Somebody has written spec.replicas, where it does not count."""
    text = (
        f"spec.replicas was set to {replicas}, and is not read: autoscaling.mode is Internal. Somebody else who scales "
        "this group (kubectl scale, an HPA) needs mode External or Off"
    )
    await _tell(services, about, Happened.REPLICAS_IGNORED, text, "Scale")


async def tell_status(services: Services, about: Manifest, old: RunnerGroupStatus, new: RunnerGroupStatus) -> None:
    """What has become true or ceased to be."""
    meta = about["metadata"]
    rollouts = functools.partial(services.metrics.rollouts.labels, meta["namespace"], meta["name"])
    await _tell_conditions(services, about, old.conditions, new.conditions)
    if old.update_revision and new.update_revision != old.update_revision:
        text = f"revision {new.update_revision} replaces {old.current_revision}"
        await _tell(services, about, Happened.ROLLOUT_STARTED, text, "Roll")
        rollouts("begun").inc()
    if old.current_revision and new.current_revision != old.current_revision:
        text = f"all runners have revision {new.current_revision}"
        await _tell(services, about, Happened.ROLLED_OUT, text, "Roll")
        rollouts("done").inc()
    if new.failed_revision not in (None, old.failed_revision):
        rollouts("failed").inc()
    if new.leader and new.leader.runner and (not old.leader or old.leader.runner != new.leader.runner):
        text = f"{new.leader.runner} leads, epoch {new.leader.epoch}"
        await _tell(services, about, Happened.LEADER_CHANGED, text, "Elect")


async def tell_taints(services: Services, runner: Runner, now: RunnerStatus) -> None:
    """About a Runner whose taints cannot be read, each time that they say something else."""
    if any(each.type in WATCHED for each in now.conditions):
        about = runner.model_dump(mode="json", by_alias=True, exclude_none=True)
        await _tell_conditions(services, about, runner.status.conditions, now.conditions, "the taints can be read")


async def _tell(services: Services, about: Manifest, what: Happened, text: str, action: str) -> None:
    await services.events.post(about, "Warning" if what in WARNINGS else "Normal", what, text, action)


async def _tell_conditions(
    services: Services, about: Manifest, old: Iterable[Condition], new: Iterable[Condition], otherwise: str = ""
) -> None:
    """Those that changed; `otherwise` is what one without a message means."""
    before = {each.type: each for each in old}
    for condition in new:
        if condition.type in WATCHED and _changed(before.get(condition.type), condition):
            bad = condition.status == "False" and condition.type != "Paused" and condition.reason not in CHOSEN
            text = condition.message or otherwise or f"{condition.type} is {condition.status}"
            await services.events.post(about, "Warning" if bad else "Normal", condition.reason, text, "Report")


def _changed(before: Condition | None, now: Condition) -> bool:
    if before is None:
        return now.status == "False" and now.type != "Paused" and now.reason not in CHOSEN
    quotes = now.type == "TaintsApplied" and before.message != now.message
    return before.status != now.status or (now.status == "False" and (before.reason != now.reason or quotes))


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"
