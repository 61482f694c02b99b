"""`paceline simulate`: what it reads, what it refuses, and what it shows."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from paceline_cli.main import app

GROUP = """
apiVersion: v1
kind: Secret
metadata: {{name: db}}
---
apiVersion: paceline.dev/v1alpha1
kind: RunnerGroup
metadata: {{name: builds}}
spec:
  slots: 4
  autoscaling: {{{block}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_group("group.yaml", "maxReplicas: 50")
    return tmp_path


def write_group(name: str, block: str) -> None:
    Path(name).write_text(GROUP.format(block=block))


def run(*words: str, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["simulate", *words])
    assert result.exit_code == code, result.output
    return result.stdout, " ".join(result.stderr.split())


def refused(*words: str) -> str:
    return run(*words, code=1)[1]


def test_a_file_of_jobs_is_played_in_the_order_of_time() -> None:
    Path("jobs.csv").write_text("ready,service\n2000,1\n\n10.5,2\n")
    (found,) = json.loads(run("group.yaml", "--jobs", "jobs.csv", "--startup", "3s", "--json")[0])
    assert (found["group"], found["jobs"], found["unfinished"]) == ("group.yaml", 2, 0)
    assert (found["wait_max"], found["most_runners"], found["scale_ups"]) == (3.0, 1, 2)
    assert "points" not in found


def test_moments_meet_the_schedules_of_their_own_day() -> None:
    schedule = '{cron: "0 8 * * 1-5", timezone: Europe/Berlin, durationSeconds: 3600, minReplicas: 2}'
    write_group("warm.yaml", f"maxReplicas: 9, schedules: [{schedule}]")
    for day, wait in (("2026-05-04", 0.0), ("2026-05-03", 5.0)):  # a Monday and a Sunday
        Path("jobs.csv").write_text(f"{day}T06:00:00+00:00,1\n{day}T06:30:00.000Z,1\n")
        (found,) = json.loads(run("warm.yaml", "--jobs", "jobs.csv", "--json")[0])
        assert (found["wait_p50"], found["wait_max"]) == (wait, 5.0)  # the first one comes before anybody has started


def test_two_groups_stand_side_by_side() -> None:
    write_group("other.yaml", "maxReplicas: 1")
    shown, _ = run("group.yaml", "--against", "other.yaml", "--curve", "burst:40@01:00", "--length", "2h")
    heading, first, second = shown.splitlines()
    assert heading.split()[:3] == ["GROUP", "RUNNER", "HOURS"]
    assert first.startswith("group.yaml")
    assert second.startswith("other.yaml")
    assert float(first.split()[1]) > float(second.split()[1])


@pytest.mark.parametrize(
    ("curve", "least", "most"),
    [("steady:1/s", 3400, 3800), ("steady:60/m", 3400, 3800), ("steady:120/h", 80, 160), ("burst:7@00:30", 7, 7),
     ("burst:7@01:00", 0, 0), ("day:1/s", 150, 320)],
)  # fmt: skip
def test_a_curve_brings_about_as_many_jobs_as_it_says(curve: str, least: int, most: int) -> None:
    (found,) = json.loads(run("group.yaml", "--curve", curve, "--length", "1h", "--service", "1s", "--json")[0])
    assert least <= found["jobs"] <= most


def test_curves_add_up_and_are_the_same_each_time_unless_another_seed_is_given() -> None:
    words = ("group.yaml", "--curve", "steady:1/s", "--curve", "burst:50@00:10", "--length", "20m", "--json")
    first, again, other = run(*words)[0], run(*words)[0], run(*words, "--seed", "2")[0]
    assert first == again
    assert first != other
    assert json.loads(first)[0]["jobs"] > 1100


def test_a_picture_stands_on_its_own_and_can_be_read_aloud(folder: Path) -> None:
    write_group("a&b.yaml", "maxReplicas: 2")
    _, notes = run("group.yaml", "--against", "a&b.yaml", "--curve", "steady:1/s", "--length", "10m", "--svg", "a.svg")
    assert "drawn: a.svg" in notes
    root = ElementTree.fromstring((folder / "a.svg").read_text())  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    assert root.findtext(f"{space}title") == "Simulated scaling of group.yaml and a&b.yaml"
    assert "runner hours" in (root.findtext(f"{space}desc") or "")
    assert "prefers-color-scheme:dark" in (root.findtext(f"{space}style") or "")
    curves = [path.get("class") for path in root.iter(f"{space}path")]
    assert curves.count("curve c0") == curves.count("curve c1") == 3  # legend, runners, waiting jobs


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1,2\n3,x\n", 'jobs.csv line 2, column service: "x" is no number of seconds (write it like 2.5)'),
        ("1,2\n3,-1\n", 'jobs.csv line 2, column service: "-1" is negative'),
        ("1,2\n3,nan\n", 'jobs.csv line 2, column service: "nan" is no number'),
        ("1,2\n3\n", "jobs.csv line 2, column service: is missing (write two columns: ready,service)"),
        ("1,2\nsoon,1\n", 'jobs.csv line 2, column ready: "soon" is neither seconds nor a moment'),
        ("-1,2\n", 'jobs.csv line 1, column ready: "-1" is before the day (2026-01-05)'),
        ("2026-01-01T00:00:00,2\n", "has no time zone (append Z for UTC"),
        ("1,2\n2026-01-01T00:00:00Z,2\n", "has seconds and moments in column ready (use one of them)"),
        ("0,1\n1e300,1\n", "spans more than ten years in column ready (are these seconds?)"),
        (f"0,1\n{'9' * 200_000},1\n", "jobs.csv line 2 is not CSV: field larger than field limit"),
        ("ready,service\n", "jobs.csv has no jobs: write a line ready,service for each"),
    ],
)
def test_a_bad_line_is_named_with_its_column_and_the_fix(text: str, problem: str) -> None:
    Path("jobs.csv").write_text(text)
    assert problem in refused("group.yaml", "--jobs", "jobs.csv")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Secret", "bad.yaml has no RunnerGroup"),
        ("a: [", "bad.yaml is not YAML"),
        ("---".join([GROUP.format(block="maxReplicas: 1")] * 2), "bad.yaml has 2 RunnerGroups"),
        ("{apiVersion: paceline.dev/v1alpha1, kind: RunnerGroup, spec: {}}", "has no spec.autoscaling: add a block"),
        (GROUP.format(block="minReplicas: 1"), "spec.autoscaling.maxReplicas: field required"),
        (GROUP.format(block="maxReplicas: 3, minReplicas: 4"), "autoscaling.minReplicas is 4 and must be at most"),
    ],
)
def test_a_file_without_one_good_group_is_refused(text: str, problem: str) -> None:
    Path("bad.yaml").write_text(text)
    assert problem in refused("bad.yaml", "--curve", "steady:1/s")


def test_a_schedule_that_cannot_be_read_is_a_warning_and_the_rest_is_played() -> None:
    schedule = '[{cron: "0 8 * * *", timezone: Mars/Base, durationSeconds: 60, minReplicas: 1}]'
    write_group("odd.yaml", f"maxReplicas: 3, schedules: {schedule}")
    shown, notes = run("odd.yaml", "--curve", "burst:1@00:01", "--length", "5m")
    assert 'odd.yaml: autoscaling.schedules[0].timezone "Mars/Base" is unknown' in notes
    assert "odd.yaml" in shown


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "say which jobs"),
        (("--curve", "steady:1/s", "--jobs", "jobs.csv"), "say which jobs"),
        (("--curve", "often"), '"often" is no curve'),
        (("--curve", "steady:9999999/s"), "is over 20,000,000 jobs"),
        (("--curve", "steady:1/s", "--service", "0s"), "a job takes more than 0 seconds"),
        (("--curve", "steady:1/s", "--day", "monday"), '"monday" is no day'),
    ],
)
def test_wrong_usage_says_what_is_wanted(words: tuple[str, ...], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    assert problem in run("group.yaml", *words, code=2)[1]


def test_a_machine_without_a_reader_for_yaml_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert 'pip install "paceline[operator]"' in refused("group.yaml", "--curve", "steady:1/s")
