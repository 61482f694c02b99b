"""A pytest plugin: what each story took, and what of it was waiting for what. Printed, and kept as the benches are."""

import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # found only once pytest has read its settings, which is after its plugins
    from paceline_bench.bench import Bench, Run
    from paceline_bench.measure import Measurement
    from paceline_bench.report import Result

WAITED = "waited for"
LEAST = 0.3
"""Seconds: what took less was there already."""
Steps = list[tuple[str, float]]
Stories = Mapping[str, tuple[float, Steps]]


class Times:
    """Collects them from the reports of tests."""

    def __init__(self) -> None:
        self.stories: dict[str, tuple[float, Steps]] = {}
        self.machine: Mapping[str, object] = {}

    def pytest_sessionstart(self) -> None:
        """How busy the machine was before we were."""
        from paceline_bench.machine import machine

        self.machine = machine()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A story counts when it has passed; what it waited for is known at its end."""
        name = named(report.nodeid)
        if report.when == "call" and report.passed:
            self.stories[name] = report.duration, []
        if report.when == "teardown" and name in self.stories:
            waited = [told for key, told in report.user_properties if key == WAITED and isinstance(told, tuple)]
            self.stories[name][1].extend((str(what), float(seconds)) for what, seconds in waited)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line for each story, and below it what it waited for."""
        for line in table(self.stories):
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Only what passed as a whole is a result."""
        if exitstatus == 0 and self.stories and (folder := os.environ.get("PACELINE_E2E_RESULTS")):
            from paceline_bench.plots import draw
            from paceline_bench.report import write

            write(result(self.stories, self.machine), Path(folder), draw)


def result(stories: Stories, facts: Mapping[str, object]) -> "Result":
    """As a bench would have it."""
    from paceline_bench import budgets, machine
    from paceline_bench.measure import Measurement, collect
    from paceline_bench.report import Result

    figures = collect(Measurement(name, seconds, "s") for name, seconds in measured(stories))
    return Result(
        bench=bench(), date=datetime.now(UTC), quick=False, figures=figures, curves={}, missing=(),
        verdicts=budgets.judge(budgets.load("e2e"), figures), settings={"stories": len(stories)},
        versions=machine.versions(), machine=facts,
    )  # fmt: skip


def bench() -> "Bench":
    """For the head of its page: it is pytest that runs it."""
    from paceline_bench.bench import Bench

    async def nothing(_: "Run") -> "AsyncIterator[Measurement]":
        return
        yield

    return Bench(
        name="e2e",
        title="The stories on kind",
        method="Seconds of each story, and of what it waited for, on a kind cluster of three nodes on one machine, by "
        "`make e2e`. A story also takes its own time: jobs that nap, drains that wait for them.",
        function=nothing,
    )


def named(nodeid: str) -> str:
    """The story's name, as a person reads it."""
    return nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")


def measured(stories: Stories) -> Iterator[tuple[str, float]]:
    """Every time under the name of its story."""
    for name, (seconds, steps) in stories.items():
        yield name, seconds
        for what, waited in steps:
            yield f"{name}: {what}", waited


def table(stories: Stories) -> Iterator[str]:
    """For a terminal."""
    for name, (seconds, steps) in stories.items():
        yield f"{seconds:7.1f} s  {name}"
        for what, waited in steps:
            yield f"{waited:18.1f} s  {what}"


def step(what: str, seconds: float) -> tuple[str, tuple[str, float]]:
    """For the properties of a test; numbers of jobs are nothing to compare."""
    return WAITED, (re.sub(r"^job \d+", "a job", what), seconds)


def pytest_configure(config: pytest.Config) -> None:
    """Fresh for each run."""
    config.pluginmanager.register(Times(), "paceline-e2e-times")
