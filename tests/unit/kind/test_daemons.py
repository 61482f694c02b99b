"""A daemon is known by pid and start time; nobody else is ever signalled."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline_dev.kind import daemons
from paceline_dev.kind.daemons import Record, parse_stat, read_record, recording, start, stop_recorded


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Record]:
    record = start(["sleep", "60"], tmp_path / "sleeper.process", tmp_path / "log", os.environ)
    yield record
    if record.alive():
        os.kill(record.pid, signal.SIGKILL)


def test_a_daemon_is_recorded_before_it_is_the_program(tmp_path: Path, sleeper: Record) -> None:
    assert sleeper.alive()
    assert read_record(tmp_path / "sleeper.process") == sleeper
    assert parse_stat(Path(f"/proc/{sleeper.pid}/stat").read_text())[2] == sleeper.started


def test_a_recorded_daemon_is_ended(tmp_path: Path, sleeper: Record) -> None:
    stop_recorded(tmp_path / "sleeper.process", grace=40.0)
    assert not sleeper.alive()
    assert not (tmp_path / "sleeper.process").exists()


def test_a_daemon_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = ["sh", "-c", "trap '' TERM; touch deaf; while :; do sleep 1; done"]
    record = start(["env", "-C", tmp_path, *deaf], tmp_path / "deaf.process", tmp_path / "log", os.environ)
    while not (tmp_path / "deaf").exists():
        time.sleep(0.01)
    record.stop(grace=0.1)
    assert not record.alive()


@pytest.mark.parametrize("change", [{"started": 1}, {"boot": "another boot"}])
def test_a_stranger_with_the_pid_of_a_dead_daemon_is_left_alone(sleeper: Record, change: dict[str, object]) -> None:
    known = {"pid": sleeper.pid, "started": sleeper.started, "boot": sleeper.boot}
    record = Record(**(known | change))  # type: ignore[arg-type]  # its fields
    assert not record.alive()
    record.stop(grace=0.0)
    assert sleeper.alive()


def test_a_dead_daemon_of_which_nobody_took_notice_is_dead(sleeper: Record) -> None:
    os.kill(sleeper.pid, signal.SIGKILL)
    while parse_stat(Path(f"/proc/{sleeper.pid}/stat").read_text())[1] != "Z":
        time.sleep(0.01)
    assert not sleeper.alive()


@pytest.mark.parametrize("text", ["", "half", "boot\n12 (x", "boot\nno numbers at all\n"])
def test_what_is_not_a_whole_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "record").write_text(text)
    assert read_record(tmp_path / "record") is None
    stop_recorded(tmp_path / "record", grace=0.0)


def test_a_program_that_does_not_exist_is_seen_to_have_ended(tmp_path: Path) -> None:
    record = start(["/no/such/program"], tmp_path / "record", tmp_path / "log", os.environ)
    deadline = time.monotonic() + 40
    while record.alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not record.alive()


@pytest.mark.parametrize("name", ["a b", "a) S 1 2 (b", "x"])
def test_the_start_time_is_found_whatever_the_program_is_called(name: str) -> None:
    line = f"77 ({name}) S " + " ".join(str(number) for number in range(4, 53))
    assert parse_stat(line) == (77, "S", 22)


def test_a_command_records_itself_and_keeps_its_words(tmp_path: Path) -> None:
    command = recording(["printf", "%s|", "a b", "$c"], tmp_path / "record")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "a b|$c|"
    found = read_record(tmp_path / "record")
    assert found is not None
    assert found.boot == daemons.BOOT.read_text().strip()
