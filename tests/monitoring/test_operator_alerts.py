"""The operator's own alerts are those of the PrometheusRule: the same names, limits and times, in the same stories."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from paceline_operator.domain.alerts.facts import Facts, Recent
from paceline_operator.domain.alerts.follow import Alerts, follow
from paceline_operator.domain.alerts.rules import BY_NAME, FULL, RULES
from support.watching import alerts

STORIES = Path(__file__).parent / "alerts"
START = datetime(2026, 11, 17, 12, tzinfo=UTC)
PROMETHEUS_ONLY = {
    "PacelineGatewayClaimLatency", "PacelineOperatorDown", "PacelineNoOperatorLeads", "PacelineOperatorFailover",
    "PacelineGatewayDown",
}  # fmt: skip
UNSEEN = {"three idle runners lose their registrations"}
"""Stories of what an operator cannot see."""
RUN = re.compile(r"(-?[\d.]+)(?:([+-][\d.]+))?(?:x(\d+))?")
Json = dict[str, Any]


def minutes(text: str) -> timedelta:
    return timedelta(minutes=int(text.removesuffix("m")))


def values(text: str) -> Iterator[float | None]:
    """A series as promtool writes it; None where there is nothing."""
    for word in text.split():
        if word in ("_", "stale"):
            yield None
            continue
        found = RUN.fullmatch(word)
        assert found is not None, word
        first, step, times = float(found[1]), float(found[2] or 0), int(found[3] or 0)
        yield from (first + step * number for number in range(times + 1))


def series(test: Json) -> dict[str, list[float | None]]:
    """Those about the group builds, by name and what tells them apart beside the pod; of two pods the larger one."""
    found: dict[str, list[float | None]] = {}
    for each in test["input_series"]:
        name, _, rest = each["series"].partition("{")
        labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        if labels["group"] != "builds":
            continue
        key = " ".join([name, *(labels[word] for word in ("state", "type", "reason") if word in labels)])
        line = list(values(each["values"]))
        other = found.get(key, [])
        length = max(len(line), len(other))
        both = zip(_filled(line, length), _filled(other, length), strict=True)
        found[key] = [max((one for one in pair if one is not None), default=None) for pair in both]
    return found


def _filled(line: list[float | None], length: int) -> list[float | None]:
    return line + [None] * (length - len(line))


def at(line: list[float | None] | None, step: int) -> float | None:
    return line[step] if line is not None and step < len(line) else None


def facts_of(seen: dict[str, list[float | None]], step: int, recent: Recent, now: datetime) -> Facts:
    def number(name: str) -> int | None:
        found = at(seen.get(name), step)
        return None if found is None else int(found)

    said = {
        kind: reason
        for key in seen
        if key.startswith("paceline_group_condition") and at(seen[key], step) == 0
        for _, kind, reason in [key.split()]
    }
    dead, failed = number("paceline_jobs_dead"), number("paceline_pods_failed_total") or 0
    before = int(at(seen.get("paceline_pods_failed_total"), step - 1) or 0) if step else failed
    recent.note(dead, failed - before, now)
    why = said.get("Progressing", "")
    return Facts(
        wanted=number("paceline_runners_wanted") or 0,
        ready=number("paceline_runners ready") or 0,
        updated=number("paceline_runners_updated") or 0,
        reachable=number("paceline_queue_reachable") != 0,
        leaderless="LeaderElected" in said,
        stalled=why == "RolloutStalled",
        given_up=why if why in ("RolledBack", "RolloutStopped") else "",
        oldest=at(seen.get("paceline_job_oldest_seconds"), step),
        unclaimable=number("paceline_jobs_unclaimable"),
        dead=dead,
        arrived=recent.arrived(dead),
        failed=recent.failed,
        held=at(seen.get("paceline_vacuum_held_seconds"), step),
    )


def stories() -> Iterator[tuple[str, Json]]:
    for rule in RULES:
        if rule.name == "PacelineClaimLatency":  # Prometheus goes by what only runners count
            continue
        for test in yaml.safe_load((STORIES / f"{rule.name}.yaml").read_text())["tests"]:
            if test["name"] not in UNSEEN:
                yield rule.name, test


def test_all_others_are_known_to_prometheus_alone() -> None:
    assert alerts().keys() - BY_NAME.keys() == PROMETHEUS_ONLY
    assert BY_NAME.keys() <= alerts().keys()


@pytest.mark.parametrize("name", BY_NAME)
def test_a_rule_has_the_limits_the_times_and_the_words_of_prometheus(name: str) -> None:
    rule, theirs = BY_NAME[name], alerts()[name]
    assert rule.severity == theirs["labels"]["severity"]
    assert rule.lasts == minutes(theirs.get("for", "0m"))
    limits = {float(each) for each in re.findall(r"(?:[<>]=?|==) ([\d.]+)", theirs["expr"])} - {0}
    assert limits == {rule.over, *([FULL] if name == "PacelineDeadLetters" else ())} - {0}
    if name != "PacelineClaimLatency":
        assert {minutes(each) for each in re.findall(r"\[(\w+)\]", theirs["expr"])} == {rule.window} - {timedelta()}
    said = rule.summary.format(group="ci/builds", pool="builds")
    theirs_said = theirs["annotations"]["summary"]
    for label, value in (("namespace", "ci"), ("group", "builds"), ("pool", "builds")):
        theirs_said = theirs_said.replace(f"{{{{ $labels.{label} }}}}", value)
    assert said == theirs_said


@pytest.mark.parametrize(
    ("name", "test"), list(stories()), ids=lambda part: part if isinstance(part, str) else part["name"]
)
def test_in_the_stories_that_promtool_is_told_the_operator_fires_when_prometheus_does(name: str, test: Json) -> None:
    seen, rule = series(test), BY_NAME[name]
    step_seconds = {"1m": 60, "30s": 30}[test["interval"]]
    wanted = {
        int(minutes(each["eval_time"]).total_seconds()) // step_seconds: each["exp_alerts"]
        for each in test["alert_rule_test"]
        if each["alertname"] == name
    }
    recent, current = Recent(None, START), Alerts()
    for step in range(max(wanted) + 1):
        now = START + timedelta(seconds=step * step_seconds)
        facts = facts_of(seen, step, recent, now)
        current = follow(current, facts, now)
        if step in wanted:
            firing = [each for each in current if each.name == name and each.message and not each.ended_at]
            assert len(firing) == len(wanted[step]), f"after {now - START}"
            for expected in wanted[step]:
                assert rule.describe(facts) == expected["exp_annotations"]["description"]
