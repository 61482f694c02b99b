"""The workflow installs every program without which a test is skipped: with CI=true a skip is a failure."""

import re
from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY

PACKAGES = {"chromium": "chromium", "curl": "curl", "node": "nodejs", "systemd-analyze": "systemd"}
"""Debian's, of the programs that tests ask for."""
FETCHED = frozenset({"docker-compose"})
"""What the tests bring along where it is not there."""
ASKED = re.compile(r"\bwhich\(\s*[\"']([\w.-]+)[\"']")
INSTALLED = re.compile(r"apt-get install ([^\n;&|]*)")


def asked(source: str) -> set[str]:
    """Programs that a file of tests looks for, if it skips a test for want of anything."""
    return set(ASKED.findall(source)) - FETCHED if re.search(r"\bskip(?:if)?\(", source) else set()


def installed() -> set[str]:
    """Packages that every job has: by a step without a condition, or by what it runs."""
    jobs = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "ci.yml").read_text())["jobs"].values()
    runs = [step.get("run", "") for job in jobs for step in job["steps"] if "if" not in step]
    runs.append((REPOSITORY / ".ci" / "run").read_text())
    return {word for run in runs for line in INSTALLED.findall(run) for word in line.split() if word[0] != "-"}


def test_every_program_that_a_test_asks_for_is_installed() -> None:
    files = [path for folder in ("tests", "e2e") for path in (REPOSITORY / folder).rglob("*.py")]
    wanted = {name for path in files if path != Path(__file__) for name in asked(path.read_text())}
    assert wanted == PACKAGES.keys(), "say which package of Debian has it"
    assert {PACKAGES[name] for name in wanted} - installed() == set()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('if shutil.which("gpg") is None:\n    pytest.skip("install gpg")', {"gpg"}),
        ('skipif(shutil.which(\n    "dig") is None, reason="no dig")', {"dig"}),
        ('found = shutil.which("docker-compose")\npytest.skip("cannot be had")', set()),
        ('compiler = shutil.which("cc")', set()),
    ],
)
def test_a_program_counts_where_a_test_would_be_skipped(source: str, names: set[str]) -> None:
    assert asked(source) == names


def test_what_is_installed_only_sometimes_does_not_count() -> None:
    assert "systemd" in installed()
    assert "postgresql-15" not in installed()
