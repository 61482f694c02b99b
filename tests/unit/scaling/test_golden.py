"""What the HPA of Kubernetes 1.36.4 itself answered, case by case (see hpa.md), is what we answer."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.decide import ScaleReason, decide
from paceline_operator.domain.scaling.history import Change, History, Recommendation
from paceline_operator.domain.scaling.signals import Signals

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "hpa.jsonl").read_text().splitlines()
]
MOVES = [case for case in CASES if "behavior" in case]
TOLERANCES = [case for case in CASES if "usage" in case]


def ago(entry: dict[str, float]) -> datetime:
    return NOW - timedelta(seconds=entry["ageSeconds"])


def history_of(case: dict[str, Any]) -> History:
    said = sorted((ago(each), each["replicas"]) for each in case["recommendations"] or ())
    done = [(ago(each), each["replicas"]) for each in case["added"] or ()]
    done += [(ago(each), -each["replicas"]) for each in case["removed"] or ()]
    return History(
        tuple(Recommendation(at, at, replicas) for at, replicas in said),
        tuple(Change(at, change) for at, change in sorted(done)),
    )


def hpa_reason(case: dict[str, Any]) -> str:
    """The last word of the HPA's two conditions; what selectPolicy Disabled limits has a word of its own here."""
    limited: str = case["scalingLimited"]
    if limited == "DesiredWithinRange":
        return limited if case["ableToScale"] == "ReadyForNewScale" else str(case["ableToScale"])
    direction = {"ScaleUpLimit": "scaleUp", "ScaleDownLimit": "scaleDown"}.get(limited)
    disabled = direction and case["behavior"][direction].get("selectPolicy") == "Disabled"
    return ScaleReason.DISABLED if disabled else limited


def moved(case: dict[str, Any]) -> tuple[int, str]:
    bounds = {"minReplicas": case["min"], "maxReplicas": case["max"]}
    spec = Autoscaling.model_validate({**bounds, "behavior": case["behavior"]})
    decision = decide(spec, 1, case["current"], Signals(ready=case["desired"], running=0), history_of(case), NOW)
    return decision.replicas, decision.reason


def tolerated(case: dict[str, Any]) -> int:
    rules = {"policies": [{"type": "Percent", "value": 1000, "periodSeconds": 1}], "stabilizationWindowSeconds": 0}
    behavior = {
        "scaleUp": {**rules, "tolerance": str(case["up"])}, "scaleDown": {**rules, "tolerance": str(case["down"])},
    }  # fmt: skip
    spec = Autoscaling.model_validate({"maxReplicas": 1000, "behavior": behavior})
    return decide(spec, case["perPod"], case["current"], Signals(0, running=case["usage"]), History(), NOW).replicas


def test_windows_policies_and_bounds_are_those_of_the_hpa() -> None:
    wrong = [(case, got) for case in MOVES if (got := moved(case)) != (case["replicas"], hpa_reason(case))]
    assert wrong == []


def test_tolerance_is_that_of_the_hpa() -> None:
    wrong = [(case, got) for case in TOLERANCES if (got := tolerated(case)) != case["replicas"]]
    assert wrong == []


def test_the_cases_show_every_rule() -> None:
    assert len(MOVES) == 400
    assert {hpa_reason(case) for case in MOVES} == {
        "DesiredWithinRange", "ScaleUpStabilized", "ScaleDownStabilized", "ScaleUpLimit", "ScaleDownLimit",
        "ScalingDisabled", "TooManyReplicas", "TooFewReplicas",
    }  # fmt: skip
    kept = [case for case in TOLERANCES if case["replicas"] == case["current"]]
    assert len(TOLERANCES) == 100
    assert len(kept) > 20
