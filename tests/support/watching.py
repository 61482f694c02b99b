"""What we ship for whoever watches Paceline with Prometheus, and the real programs that read it."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.progress import stderr_reporter
from paceline_dev.prometheus import programs

MONITORING = REPOSITORY / "manifests" / "monitoring"
RUNBOOKS = REPOSITORY / "docs" / "runbooks"
METRIC = re.compile(r"\bpaceline_\w+")
SELECTOR = re.compile(r"\b(?:paceline_\w+|up)\b(?:\{[^}]*\})?")
OFFERED = re.compile(r"label_values\((.+), (\w+)\)")
PARTS = re.compile(r"_(bucket|sum|count)$")


def rule_groups() -> list[dict[str, Any]]:
    """As Prometheus reads them, without what Kubernetes needs around them."""
    found: list[dict[str, Any]] = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["spec"]["groups"]
    return found


def alerts() -> dict[str, dict[str, Any]]:
    """All of them, by their names."""
    return {rule["alert"]: rule for group in rule_groups() for rule in group["rules"]}


@dataclass(frozen=True, slots=True)
class Panel:
    """One question of the dashboard."""

    title: str
    query: str

    def __str__(self) -> str:
        return self.title


def panels() -> list[Panel]:
    """Every question of the dashboard, as Grafana asks it when all groups are chosen."""
    board = json.loads((MONITORING / "grafana" / "paceline.json").read_text())
    return [
        Panel(each["title"], _asked(target["expr"])) for each in board["panels"] for target in each.get("targets", ())
    ]


def _asked(query: str) -> str:
    for variable, value in (("$namespace", ".*"), ("$group", ".*"), ("$__rate_interval", "1m")):
        query = query.replace(variable, value)
    return query


@dataclass(frozen=True, slots=True)
class Variable:
    """What can be chosen at the top of the dashboard: the values of a label, in the series that a selector finds."""

    name: str
    selector: str
    label: str


def variables() -> list[Variable]:
    """Those that Prometheus is asked for, as long as nothing has been chosen."""
    board = json.loads((MONITORING / "grafana" / "paceline.json").read_text())
    found = []
    for each in board["templating"]["list"]:
        if each["type"] == "query":
            asked = OFFERED.fullmatch(each["query"])
            assert asked is not None, each["query"]
            found.append(Variable(each["name"], _asked(asked[1]), asked[2]))
    return found


def selectors_in(query: str) -> set[str]:
    """What a rule reads, without what it makes of it: a rule finds nothing as long as all is well."""
    return {found.group() for found in SELECTOR.finditer(query)}


def questions() -> set[str]:
    """All that is asked: of the dashboard as it is, of a rule what it reads."""
    return {
        *(each.query for each in panels()),
        *(one for each in alerts().values() for one in selectors_in(each["expr"])),
    }


def metrics_in(query: str) -> set[str]:
    """Names of families, as a process shows them."""
    return {PARTS.sub("", name) for name in METRIC.findall(query)}


def fetched() -> Path:
    """The folder with prometheus and promtool; where they cannot be had the test says so (and fails, in CI)."""
    try:
        return programs(stderr_reporter())
    except DevError as error:
        pytest.skip(f"Prometheus cannot be had: {error}")


def promtool(folder: Path, *words: str) -> str:
    """What it says; what it does not like is an error of the test."""
    done = subprocess.run([folder / "promtool", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
