"""What the stories on kind took: only those that passed count, and only a run that passed as a whole is a result."""

import json
from pathlib import Path

import pytest

from support.times import Times, step, table

STORY = "e2e/inside/test_two.py::test_the_other_acts[kill]"


def told(when: str, *, passed: bool = True, seconds: float = 1.0, waited: tuple[str, float] | None = None) -> object:
    properties = [step(*waited)] if waited else []
    return pytest.TestReport(
        STORY, ("", 0, ""), {}, "passed" if passed else "failed", None, when,  # type: ignore[arg-type]
        user_properties=properties, duration=seconds,
    )  # fmt: skip


def times(*reports: object) -> Times:
    found = Times()
    for each in reports:
        found.pytest_runtest_logreport(each)  # type: ignore[arg-type]
    return found


def test_a_story_is_told_with_what_it_waited_for() -> None:
    found = times(told("setup"), told("call", seconds=9.04), told("teardown", waited=("job 17 is done", 4.0)))
    assert [*table(found.stories)] == [
        "    9.0 s  the other acts[kill]",
        "               4.0 s  a job is done",
    ]


def test_a_story_that_failed_has_no_time() -> None:
    found = times(told("call", passed=False), told("teardown", waited=("it is ready", 4.0)))
    assert found.stories == {}


def test_a_run_is_kept_as_the_benches_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_E2E_RESULTS", str(tmp_path))
    times(told("call", seconds=9.0), told("teardown", waited=("it is ready", 4.0))).pytest_sessionfinish(0)
    kept = json.loads((tmp_path / "e2e.json").read_text())
    assert (kept["bench"], kept["settings"]) == ("e2e", {"stories": 1})
    assert {each["name"]: each["median"] for each in kept["figures"]} == {
        "the other acts[kill]": 9.0, "the other acts[kill]: it is ready": 4.0,
    }  # fmt: skip
    assert "the other acts[kill]" in (tmp_path / "e2e.md").read_text()


def test_a_run_in_which_something_failed_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_E2E_RESULTS", str(tmp_path))
    times(told("call")).pytest_sessionfinish(1)
    assert [*tmp_path.iterdir()] == []
