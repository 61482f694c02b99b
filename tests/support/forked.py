"""Our commands, each a process of its own, forked from one that has imported them: 20 ms of CPU instead of 300 to 900.

What a user starts is started so in tests/packaging, tests/runner and wherever a terminal or a pipe matters.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["support.forked_imports"])


class Forked:
    """`paceline` with some words; what a test needs of `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], *, stdin: int, stdout: int, stderr: int) -> None:
        """The three are file descriptors; the caller may close them at once."""
        standard = [DupFd(each) for each in (stdin, stdout, stderr)]
        self._process = _CONTEXT.Process(target=_become, args=(list(words), dict(env), str(Path.cwd()), standard))
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, once it has one."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        """Wait for its end."""
        self._process.join(seconds)
        if self._process.exitcode is None:
            raise TimeoutError(f"process {self.pid} has not ended within {seconds} s")
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it one, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def _become(words: list[str], env: dict[str, str], folder: str, standard: list[Any]) -> None:
    """In the new process: look as if the user's shell had started it, and run."""
    from paceline_cli.main import main

    for number, given in enumerate(standard):
        os.dup2(given.detach(), number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = ["paceline", *words]
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 -- as long as it lives
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    main()
