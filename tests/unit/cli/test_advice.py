"""What wants somebody, and the next step: for every reason that is trouble there is one."""

import pytest

from paceline_cli.advice import STEPS, rollout, state, troubles
from paceline_operator.domain.reasons import Reason
from unit.cli.groups import condition, group

WELL = {
    "AsWanted", "ScalingUp", "ScalingDown", "RollingOut", "Deleting", "Reachable", "Available", "Unavailable", "Empty",
    "Stable", "Progressing", "Manual", "External", "Internal", "RecommendOnly", "QueueUnknown", "Elected", "NotPaused",
    "Applied", "RunnersNotReady",
}  # fmt: skip
"""No trouble by itself: it is well, under way, or follows from another one."""
OF_RUNNERS = {"Tainted", "NotOurs", "Registered", "NotRegistered", "Draining", "Failed"}


def test_every_reason_has_a_step_or_needs_none() -> None:
    assert {reason.value for reason in Reason} - WELL - OF_RUNNERS == set(STEPS)


def test_a_group_that_is_well_wants_nobody() -> None:
    assert troubles(group()) == []
    assert (state(group()), rollout(group())) == ("AsWanted", "done")


@pytest.mark.parametrize(
    ("kind", "status", "reason", "step"),
    [
        ("QueueReachable", "False", "SchemaTooOld", "paceline migrate"),
        ("Progressing", "False", "RolloutStalled", "jobs cancel ID"),
        ("Progressing", "Unknown", "RolloutPaused", "kubectl paceline rollout resume builds -n ci"),
        ("Ready", "False", "Drained", "kubectl paceline undrain group/builds -n ci"),
        ("Paused", "True", "Paused", "kubectl paceline resume builds -n ci"),
        ("TaintsApplied", "False", "InvalidTaint", "kubectl paceline untaint group/builds --all -n ci"),
        ("LeaderElected", "False", "NobodyEligible", "kubectl -n ci get rnr -o wide"),
        ("ScalingLimited", "True", "TooManyReplicas", "kubectl paceline explain builds -n ci"),
    ],
)
def test_the_step_names_the_group(kind: str, status: str, reason: str, step: str) -> None:
    (only,) = troubles(group(condition(kind, status, reason, "why it is so")))
    assert step in only.step
    assert kind == "Paused" or only.what == f"{kind}: why it is so"


def test_the_cause_comes_first_and_a_step_once() -> None:
    found = troubles(
        group(
            condition("QueueReachable", "False", "Unreachable", "no answer"),
            condition("Paused", "True", "Paused"),
            condition("Ready", "False", "Paused"),
            queue={"ready": 0, "dead": 3, "unclaimable": 2},
        )
    )
    assert [each.what for each in found] == [
        "it is paused", "QueueReachable: no answer", "2 jobs that no runner could take", "3 dead letters",
    ]  # fmt: skip


def test_a_status_that_is_older_than_the_spec_is_told() -> None:
    (only,) = troubles(group(generation=2))
    assert only.what == "the operator has not seen the group as it is now"


def test_how_far_an_update_is() -> None:
    assert rollout(group(updateRevision="b2", updatedReplicas=1)) == "1 of 3"
    assert rollout(group(updateRevision="b2", failedRevision="b2")) == "failed"
    assert rollout(group(updateRevision=None, currentRevision=None)) == "-"
