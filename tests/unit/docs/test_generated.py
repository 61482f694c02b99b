"""The tables of the reference are what the code says, and nothing is missing from them."""

import re
from enum import StrEnum

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.reference import metrics, pages, sql
from paceline_dev.reference.said import members
from paceline_gateway.metrics import Metrics as OfGateway
from paceline_operator.handlers.metrics import Metrics as OfOperator

REFERENCE = REPOSITORY / "docs" / "reference"
SHIPPED = ("sdk", "operator", "runner-image/paceline_runner", "gateway", "cli")
OF_OTHERS = frozenset({"PACELINE_COMPLETE", "PACELINE_TEST_DATABASE_URL"})
"""One is the shell's, the other for those who change Paceline: CONTRIBUTING.md has it."""


class Bare(StrEnum):
    ONE = "One"
    """The first."""
    TWO = "Two"
    THREE = "Three"
    """The last."""


def test_the_committed_pages_are_what_the_code_says() -> None:
    assert pages.drift(REFERENCE) == []


def test_every_metric_that_is_served_is_told() -> None:
    told = {part: {each.name for each in some} for part, some in metrics.everything().items()}
    assert told["Operator"] == metrics.served(OfOperator().registry)
    assert told["Gateway"] == metrics.served(OfGateway().registry)
    assert len(told["Runner"]) >= 12


def test_every_variable_that_the_code_names_is_told() -> None:
    page = (REFERENCE / "environment.md").read_text()
    named = {
        name
        for root in SHIPPED
        for path in (REPOSITORY / root).rglob("*.py")
        for name in re.findall(r"\bPACELINE_[A-Z_]*[A-Z]\b", path.read_text())
    }
    assert len(named) > 40
    assert sorted(name for name in named - OF_OTHERS if f"`{name}`" not in page) == []


def test_a_word_that_nobody_has_explained_is_an_error() -> None:
    with pytest.raises(DevError, match="Bare has no sentence under Two"):
        members(Bare)


def test_a_function_that_nobody_may_call_is_told_to_nobody() -> None:
    told = {each.name for each in sql.for_logins()}
    assert {"enqueue", "step", "cancel", "observe"} <= told
    assert not told & {"admit", "do_tick", "require", "lose_jobs"}


def test_everybody_who_may_call_a_function_is_told() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|", (REFERENCE / "sql.md").read_text(), re.MULTILINE))
    assert rows["enqueue"] == "producer, gateway, operator"
    assert rows["purge"] == "gateway, operator"
    assert rows["step"] == f"{sql.REGISTERED}, gateway"
    assert rows["heartbeat"] == f"{sql.REGISTERED}, gateway, operator"
    assert rows["dial"] == "gateway"
    assert rows["restored"] == "owner"
    assert [name for name, who in rows.items() if not who] == []
