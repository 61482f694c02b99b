"""Every alert fires when it should, does not when it just should not, and is over when it is over."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.watching import RUNBOOKS, alerts, promtool

TESTS = Path(__file__).parent / "alerts"
pytestmark = pytest.mark.timeout(300)  # the first one may have to fetch Prometheus


def stories(alert: str) -> list[list[dict[str, Any]]]:
    """What promtool is to see of an alert, in the order of time, story by story."""
    read = yaml.safe_load((TESTS / f"{alert}.yaml").read_text())
    return [[seen for seen in test["alert_rule_test"] if seen["alertname"] == alert] for test in read["tests"]]


def test_promtool_can_read_them(prometheus: Path, rules: Path) -> None:
    assert f"{len(alerts())} rules found" in promtool(prometheus, "check", "rules", str(rules))


@pytest.mark.parametrize("alert", alerts())
def test_an_alert_fires_when_it_should_and_only_then(prometheus: Path, rules: Path, alert: str) -> None:
    file = shutil.copy(TESTS / f"{alert}.yaml", rules.parent)
    assert "SUCCESS" in promtool(prometheus, "test", "rules", str(file))


def test_every_alert_has_its_tests_and_its_page_and_nothing_else_has() -> None:
    assert {path.stem for path in TESTS.iterdir()} == set(alerts())
    assert {path.stem for path in RUNBOOKS.iterdir()} == set(alerts())


@pytest.mark.parametrize("alert", alerts())
def test_its_tests_see_it_fire_end_and_not_fire(alert: str) -> None:
    fired = [[bool(seen["exp_alerts"]) for seen in story] for story in stories(alert)]
    assert any((True, False) in itertools.pairwise(story) for story in fired), "none sees it end"
    assert any(story and not any(story) for story in fired), "none comes close without firing"


@pytest.mark.parametrize("alert", alerts())
def test_an_alert_says_how_bad_it_is_what_it_saw_and_where_to_read_on(alert: str) -> None:
    rule = alerts()[alert]
    assert rule["labels"]["severity"] in ("critical", "warning")
    said = rule["annotations"]
    assert set(said) == {"summary", "description", "runbook_url"}
    assert "$value" in said["description"] or "query" in said["description"] or "$labels.reason" in said["description"]
    assert said["runbook_url"] == f"docs/runbooks/{alert}.md"
