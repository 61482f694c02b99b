"""Process 1 of a container passes signals on, buries orphans, and ends as the runner does."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

CODE = """
import os, signal, subprocess, sys, time
os.getpid_real, os.getpid = os.getpid, lambda: 1
import ctypes
ctypes.CDLL(None).prctl(36, 1)  # orphans fall to us, as they do to process 1
from paceline_runner.init import be_init
be_init()
os.getpid = os.getpid_real
{child}
"""
ORPHAN = """
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.2)
        os._exit(0)
    os._exit(0)
os.wait()
signal.signal(signal.SIGTERM, lambda *_: os._exit(42))
print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has containers")
def test_signals_are_passed_on_orphans_are_buried_and_the_exit_code_is_the_runners() -> None:
    with subprocess.Popen([sys.executable, "-c", CODE.format(child=ORPHAN)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        runner = int(process.stdout.readline())
        init = psutil.Process(process.pid)
        try:
            orphans = [each for each in init.children() if each.pid != runner]  # they go when they have been buried
            assert not psutil.wait_procs(orphans, timeout=40)[1]
            process.send_signal(signal.SIGTERM)
            assert process.wait(40) == 42
        finally:
            for child in init.children() if process.poll() is None else ():
                child.kill()
            process.kill()


def test_a_runner_that_dies_by_a_signal_is_told_as_shells_do() -> None:
    code = CODE.format(child="os.kill(os.getpid(), signal.SIGKILL)")
    assert subprocess.run([sys.executable, "-c", code], timeout=50, check=False).returncode == 128 + signal.SIGKILL


def test_any_other_process_is_left_as_it_is(tmp_path: Path) -> None:
    code = "import os; from paceline_runner.init import be_init; me = os.getpid(); be_init(); assert os.getpid() == me"
    assert subprocess.run([sys.executable, "-c", code], timeout=50, check=False, cwd=tmp_path).returncode == 0
