"""A pytest plugin that counts how many tests ran against each real thing, and refuses skips where they hide one.

The count comes from the fixtures that a test uses, so no test can claim more than it does. It is printed, and
written as JSON to the file in PACELINE_REAL_PARTS for the script that runs the checks.
"""

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from support.bounced import is_bounced

FIXTURES = {
    "postgres": "postgres",
    "bouncer": "pgbouncer",
    "control_plane": "apiserver",
    "browser_page": "browser",
    "kind_cluster": "kind",
    "prometheus": "prometheus",
}
"""Fixture name to the real thing behind it."""


class RealParts:
    """Counts passed tests by what they talked to."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note what the test used; in CI turn a skip into a failure that tells its reason."""
        report = yield
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in FIXTURES:
                report.user_properties.append(("real", FIXTURES[fixture]))
        if is_bounced(item):
            report.user_properties.append(("real", FIXTURES["bouncer"]))
        if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = f"skipped, which is a failure when CI=true: {report.longrepr}"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once, when its call has passed (in the main process, where all reports arrive)."""
        if report.when == "call" and report.passed:
            self.counts.update({str(value) for key, value in report.user_properties if key == "real"})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the counts, and write them where the caller wants them."""
        if "PYTEST_XDIST_WORKER" in os.environ:
            return
        counts = {part: self.counts[part] for part in sorted(set(FIXTURES.values()))}
        text = ", ".join(f"{part} {count}" for part, count in counts.items())
        terminalreporter.write_line(f"tests against real parts: {text}")
        if place := os.environ.get("PACELINE_REAL_PARTS"):
            Path(place).parent.mkdir(parents=True, exist_ok=True)
            Path(place).write_text(json.dumps(counts))


def pytest_configure(config: pytest.Config) -> None:
    """Make a fresh counter for each run."""
    config.pluginmanager.register(RealParts(), "paceline-real-parts")
