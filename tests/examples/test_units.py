"""The systemd units of the example: systemd takes them as they are, and they keep a runner as it wants to be kept."""

import configparser
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY
from paceline_runner.keeper import FENCED
from support.page import commands
from unit.docs.programs import OURS, typed

FOLDER = REPOSITORY / "runner-image" / "examples" / "two-nodes"
UNITS = FOLDER / "systemd"
NODE = "paceline-runner@node-1.service"
NAMES = (NODE, "paceline-migrate.service")
EXPOSURE = 20
"""In tenths: what may be left open. The network that a runner needs is half of what is."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with the units, what they start, and systemd's own targets."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here (Debian: apt-get install systemd)")
    copy, *_ = commands(FOLDER / "README.md", "As units of systemd")
    (own := tmp_path / "etc/systemd/system").mkdir(parents=True)
    (targets := tmp_path / "lib/systemd/system").mkdir(parents=True)
    copied = copy.partition(" && ")[0].replace("/etc/systemd/system/", shlex.quote(str(own)))
    subprocess.run(["bash", "-c", copied], cwd=FOLDER, check=True)
    for each in Path("/lib/systemd/system").glob("*.target"):
        shutil.copy(each, targets)
    program = tmp_path / "opt/paceline/bin/paceline"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    return tmp_path


def analyze(root: Path, verb: str, *options: str) -> tuple[int, str]:
    command = ["systemd-analyze", verb, f"--root={root}", *options, *NAMES]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "SYSTEMD_PAGER": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_systemd_has_nothing_to_say_against_them(root: Path) -> None:
    assert analyze(root, "verify", "--man=no") == (0, "")


def test_what_systemd_does_not_know_would_be_seen(root: Path) -> None:
    unit = root / "etc/systemd/system/paceline-runner@.service"
    unit.write_text(f"{unit.read_text()}[Service]\nRestartSecs=5\n")
    assert "RestartSecs" in analyze(root, "verify", "--man=no")[1]


def test_hardly_anything_is_open_to_them(root: Path) -> None:
    code, said = analyze(root, "security", "--offline=true", f"--threshold={EXPOSURE}")
    assert code == 0, said
    shutil.rmtree(root / "etc/systemd/system/paceline-.service.d")
    assert analyze(root, "security", "--offline=true", f"--threshold={EXPOSURE}")[0] != 0, "the drop-in is what counts"


class Unit(configparser.RawConfigParser):
    """A unit; of settings that are there more than once, the last."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False)
        self.optionxform = str  # type: ignore[assignment,method-assign]  # they are spelled in both cases
        self.read_string((UNITS / name).read_text())


RUNNER, MIGRATE = Unit("paceline-runner@.service"), Unit("paceline-migrate.service")


def test_each_starts_a_command_that_there_is() -> None:
    for unit in (RUNNER, MIGRATE):
        program, *words = shlex.split(unit["Service"]["ExecStart"])
        assert program == "/opt/paceline/bin/paceline"
        assert typed(OURS, words) == ""


def test_nobody_is_killed_while_it_drains() -> None:
    service = RUNNER["Service"]
    words = shlex.split(service["ExecStart"])
    drain = float(words[words.index("--drain-timeout") + 1])
    assert float(service["TimeoutStopSec"]) >= drain + 30, "as a pod has it"
    assert (service["KillMode"], service["KillSignal"]) == ("mixed", "SIGTERM")


def test_who_lost_its_lease_comes_back_and_who_was_told_to_leave_does_not() -> None:
    service = RUNNER["Service"]
    assert service["Restart"] == "on-failure"
    assert str(FENCED) not in service["RestartPreventExitStatus"].split()


def test_no_secret_is_in_a_unit() -> None:
    for path in UNITS.rglob("*"):
        assert path.is_dir() or "://" not in path.read_text()
    for unit, file in ((RUNNER, "/etc/paceline/%i.env"), (MIGRATE, "/etc/paceline/migrate.env")):
        assert unit["Service"]["EnvironmentFile"].removeprefix("-") == file
