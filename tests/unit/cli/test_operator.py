"""`paceline operator` as process 1 of a container, which gets no signal that it does not listen for."""

import signal
import subprocess
import sys

CODE = """
import os, signal, sys, time
from paceline_cli import operator
from paceline_cli.main import app

def still_importing(*_, **__):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)

operator._settings = still_importing
app(["operator"])
"""


def test_whoever_ends_it_while_it_starts_is_obeyed_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, timeout=50, check=False)
    assert done.returncode == 0, (signal.SIGTERM, done.stderr)
