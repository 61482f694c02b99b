"""Nothing that we start may outlive us, whichever of the three processes dies first and however."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from paceline.testing.guard import Guarded

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
OWNER = """
import sys
from pathlib import Path
from paceline.testing.guard import Guarded
scratch = Path(sys.argv[1])
held = Guarded(["sleep", "60"], log=scratch / "log", scratch=scratch)
print(held.pid, held._script.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Guarded]:
    with Guarded(["sleep", "60"], log=tmp_path / "log") as process:
        yield process


def _gone(pid: int) -> bool:
    """Wait for the end of a process that is not our child."""
    try:
        psutil.Process(pid).wait(timeout=40)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def _script_of(pid: int) -> psutil.Process:
    parent = psutil.Process(pid).parent()
    assert parent is not None
    return parent


def test_the_program_runs_under_the_pid_that_is_told(sleeper: Guarded) -> None:
    assert psutil.Process(sleeper.pid).cmdline() == ["sleep", "60"]
    assert sleeper.alive()


def test_stop_returns_when_the_program_is_gone(sleeper: Guarded) -> None:
    sleeper.stop()
    assert not psutil.pid_exists(sleeper.pid)
    assert not sleeper.alive()


def test_a_program_that_ignores_the_stop_signal_is_killed_after_its_grace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = Guarded([sys.executable, "-c", STUBBORN], log=log, grace=0.2)
    with psutil.Popen(["tail", "-f", str(log)], stdout=subprocess.PIPE) as tail:
        assert tail.stdout.readline() == b"up\n"
        tail.kill()
    process.stop()
    assert not psutil.pid_exists(process.pid)


def test_an_owner_killed_with_sigkill_takes_program_and_scratch_folder_with_it(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(scratch)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        program, script = map(int, owner.stdout.readline().split())
        assert psutil.pid_exists(program)
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    assert _gone(program)
    assert _gone(script)
    assert not scratch.exists()


def test_an_owner_that_is_gone_before_the_guard_looks_is_noticed(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(["true"]) as owner:
        pass
    process = Guarded(["sleep", "60"], log=tmp_path / "log", owner=owner.pid, scratch=scratch)
    process._script.wait(40)
    assert _gone(process.pid)
    assert not scratch.exists()


def test_a_guard_killed_with_sigkill_takes_the_program_with_it(sleeper: Guarded) -> None:
    _script_of(sleeper.pid).kill()
    assert _gone(sleeper.pid)


def test_the_guard_ends_when_the_program_ends_by_itself(tmp_path: Path) -> None:
    process = Guarded(["sleep", "60"], log=tmp_path / "log")
    script = _script_of(process.pid)
    os.kill(process.pid, signal.SIGTERM)
    assert _gone(script.pid) or script.status() == psutil.STATUS_ZOMBIE
    assert not process.alive()


def test_a_program_that_cannot_be_started_is_told_in_the_log(tmp_path: Path) -> None:
    process = Guarded([tmp_path / "no-such-program"], log=tmp_path / "log")
    assert process.pid == 0
    assert not process.alive()
    assert "no-such-program" in (tmp_path / "log").read_text()


def test_children_of_the_program_end_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    pid_file.touch()
    shell = f"sleep 60 & echo $! > {pid_file}; echo ready; wait"
    log = tmp_path / "log"
    process = Guarded(["sh", "-c", shell], log=log)
    with psutil.Popen(["tail", "-f", str(log)], stdout=subprocess.PIPE) as tail:
        assert tail.stdout.readline() == b"ready\n"
        tail.kill()
    child = int(pid_file.read_text())
    process.stop()
    assert _gone(child)
