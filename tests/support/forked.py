"""Our commands, each a process of its own, forked from one that has imported them: 20 ms of CPU instead of 300 to 900.

What a user starts is started so in tests/packaging, tests/runner and wherever a terminal or a pipe matters.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, Self

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["support.forked_imports"])


class Forked:
    """`paceline` with some words; what a test needs of `subprocess.Popen`."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], *, stdin: int, stdout: int, stderr: int, alone: bool = False
    ) -> None:
        """The three are file descriptors; the caller may close them at once. `alone`: in a session of its own."""
        standard = [DupFd(each) for each in (stdin, stdout, stderr)]
        told = (list(words), dict(env), str(Path.cwd()), standard, alone)
        self._process = _CONTEXT.Process(target=_become, args=told)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """A file descriptor that can be read when it has ended."""
        return self._process.sentinel

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


class _Ear(asyncio.StreamReaderProtocol):
    """Says when there is nothing more to hear."""

    def __init__(self, heard: asyncio.StreamReader, silent: asyncio.Event) -> None:
        super().__init__(heard)
        self._silent = silent

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._silent.set()


class Awaited:
    """The same for an event loop: what a test needs of `asyncio.subprocess.Process`."""

    def __init__(self, forked: Forked) -> None:
        self._forked, self.stderr, self._silent = forked, asyncio.StreamReader(limit=2**24), asyncio.Event()
        self.send_signal, self.kill = forked.send_signal, forked.kill

    @classmethod
    async def start(cls, *words: str, env: Mapping[str, str]) -> Self:
        """In a session of its own. It reads nothing, and what it says on stderr is read here."""
        ours, its = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            forked = Forked(words, env, stdin=nothing, stdout=1, stderr=its, alone=True)
        finally:
            os.close(its)
            os.close(nothing)
        made = cls(forked)
        ear = _Ear(made.stderr, made._silent)
        await asyncio.get_running_loop().connect_read_pipe(lambda: ear, os.fdopen(ours, "rb", 0))
        return made

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._forked.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, once it has one."""
        return self._forked.poll()

    async def wait(self) -> int:
        """Wait for its end, and for all that it has said."""
        loop = asyncio.get_running_loop()
        while (code := self.returncode) is None:
            over, mine = asyncio.Event(), os.dup(self._forked.sentinel)
            loop.add_reader(mine, over.set)
            try:
                await over.wait()
            finally:
                loop.remove_reader(mine)
                os.close(mine)
        await self._silent.wait()
        return code


def _become(words: list[str], env: dict[str, str], folder: str, standard: list[Any], alone: bool) -> None:
    """In the new process: look as if the user's shell had started it, and run."""
    from paceline_cli.main import main

    if alone:
        os.setsid()
    for number, given in enumerate(standard):
        os.dup2(given.detach(), number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = ["paceline", *words]
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 -- as long as it lives
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    main()
