"""One list of the versions that Paceline is made for, and how each was tried: supported.toml. All else follows it."""

import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from paceline_dev import REPOSITORY

SUPPORTED = tomllib.loads((REPOSITORY / "supported.toml").read_text())
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
PINNED = re.compile(r"actions/[a-z-]+@[0-9a-f]{40}")
UNTRIED = "untested"


def parsed(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text())
    found["on"] = found.pop(True, None)  # YAML 1.1 takes the word for a truth
    return dict(found)


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [*chain.from_iterable(job["steps"] for job in workflow["jobs"].values())]


def note(job: dict[str, Any]) -> str:
    """What the name of a job says of the least tried version in it."""
    said = [SUPPORTED["python"][job["python"]], *(SUPPORTED["postgres"][each] for each in job["postgres"])]
    if any(each == UNTRIED for each in said):
        return f" ({UNTRIED})"
    return " (tried in part)" if any(each.startswith("in part") for each in said) else ""


def test_every_version_is_told_with_how_it_was_tried() -> None:
    assert set(SUPPORTED["python"]) == {"3.11", "3.12", "3.13", "3.14"}
    assert set(SUPPORTED["postgres"]) == {"15", "16", "17", "18"}
    for said in (*SUPPORTED["python"].values(), *SUPPORTED["postgres"].values()):
        assert re.fullmatch(r"untested|tested: .+|in part: .+", said)


def test_the_package_names_the_python_versions_that_it_was_tried_on() -> None:
    said = [each.removeprefix("Programming Language :: Python :: ") for each in PROJECT["classifiers"]]
    assert [each for each in said if re.fullmatch(r"3\.\d+", each)] == [
        version for version, tried in SUPPORTED["python"].items() if tried != UNTRIED
    ]
    assert PROJECT["requires-python"] == f">={next(iter(SUPPORTED['python']))}"


def test_every_version_has_a_job() -> None:
    assert {job["python"] for job in SUPPORTED["jobs"]} == SUPPORTED["python"].keys()
    assert {each for job in SUPPORTED["jobs"] for each in job["postgres"]} == SUPPORTED["postgres"].keys()
    for job in SUPPORTED["jobs"]:
        assert job.get("server", "") == ("" if "18" in job["postgres"] else f"postgres:{job['postgres'][0]}")


def test_the_matrix_is_the_list_and_says_untested_where_nobody_has_run_it() -> None:
    job = parsed(GITHUB / "workflows" / "ci.yml")["jobs"]["ci"]
    assert job["strategy"]["matrix"] == {
        "include": [
            {
                "python": each["python"],
                "postgres": " and ".join(each["postgres"]),
                "server": each.get("server", ""),
                "tried": note(each),
            }
            for each in SUPPORTED["jobs"]
        ]
    }
    assert job["name"].endswith("${{ matrix.tried }}")
    for part in ("python", "postgres"):
        assert f"${{{{ matrix.{part} }}}}" in job["name"]


def test_the_workflow_runs_what_must_pass_before_anything_lands() -> None:
    runs = [each["run"] for each in steps(parsed(GITHUB / "workflows" / "ci.yml")) if "run" in each]
    assert runs[-1] == "bash .ci/run"
    subprocess.run(["bash", "-n", REPOSITORY / ".ci" / "run"], check=True)


def test_a_release_is_made_by_the_command_that_people_use_and_only_from_its_tag() -> None:
    workflow = parsed(GITHUB / "workflows" / "release.yml")
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    runs = [each["run"] for each in steps(workflow) if "run" in each]
    assert runs[-1] == "make release"
    assert '"v$(.venv/bin/python -m paceline_dev version)"' in runs[0]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_ends_in_time_and_takes_nothing_that_can_move(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    assert all(job["timeout-minutes"] <= 180 for job in workflow["jobs"].values())
    uses = [each["uses"] for each in steps(workflow) if "uses" in each]
    assert len(uses) >= 3
    assert [each for each in uses if not PINNED.fullmatch(each)] == []
    assert "secrets." not in path.read_text()
    kept = next(each["with"]["path"] for each in steps(workflow) if each.get("uses", "").startswith("actions/cache@"))
    assert kept == "~/.cache/paceline"
    for script in (each["run"] for each in steps(workflow) if "run" in each):
        plain = re.sub(r"\$\{\{.*?\}\}", "x", script)
        subprocess.run(["bash", "-n"], input=plain, text=True, check=True)
        assert "${{" not in script, "what an event says would be run: hand it over as a variable"


@pytest.mark.parametrize("path", [each for each in FORMS if each.name != "config.yml"], ids=lambda path: path.name)
def test_a_form_has_what_github_wants_of_it(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= form.keys()
    asked = [each for each in form["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in asked}) == len(asked)
    assert all(each["attributes"]["label"] for each in asked)


def test_a_bug_is_told_with_versions_and_the_report_of_the_command() -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text())
    asked = {each["id"]: each for each in form["body"] if "id" in each}
    assert {name for name, each in asked.items() if each["validations"]["required"]} >= {
        "happened",
        "versions",
        "report",
    }
    assert "`kubectl paceline report`" in asked["report"]["attributes"]["description"]
    assert "paceline --version" in asked["versions"]["attributes"]["value"]
    assert not yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "config.yml").read_text())["blank_issues_enabled"]
