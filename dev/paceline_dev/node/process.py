"""Processes of containers, as the node sees them: started through the cradle, and never out of its hands."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.errors import DevError

ROOT = Path(__file__).parents[2]
SCRIPT = """\
import sys
sys.path.insert(0, sys.argv[1])
from paceline_dev.node.cradle.cradle import main
main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
"""
ANSWER_BYTES = 65536
KILL = b"0"
GOODBYE = b"."


class StartFailedError(DevError):
    """A program could not be started: it does not exist, or its folder does not."""


class ShimLostError(StartFailedError):
    """Nothing is known of the program: the cradle or the shim was killed before it could begin. Try again."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. Without a log the output is kept and handed over at the end, as for an exec."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    log: Path | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a container's first process ended, a signal as a negative number."""

    code: int
    at: float
    output: str


class Process:
    """The first process of a container; with it end all others that it started."""

    def __init__(self, line: socket.socket) -> None:
        """Listen on the line to its shim."""
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[float] = loop.create_future()
        """The time of the start, or StartFailedError."""
        self.ended: asyncio.Future[Ended] = loop.create_future()
        self.pid = 0
        self._loop = loop
        self._line = line
        line.setblocking(False)
        loop.add_reader(line, self._hear)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the first process alone, as a container runtime does."""
        self._tell(str(int(number)).encode())

    def kill(self) -> None:
        """SIGKILL to all processes of the container."""
        self._tell(KILL)

    def _tell(self, word: bytes) -> None:
        if not self.ended.done():
            try:
                self._line.send(word)
            except OSError:
                self._lost()

    def _hear(self) -> None:
        try:
            said = self._line.recv(ANSWER_BYTES)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not said:
            self._lost()
            return
        words = json.loads(said)
        if "started" in words:
            self.pid = words["started"]
            self.started.set_result(words["at"])
        elif "failed" in words:
            self._fail(StartFailedError(words["failed"]))
        else:
            self._end(Ended(words["ended"], words["at"], words["output"]))

    def _lost(self) -> None:
        """The shim is gone without a word: somebody killed it, and the kernel the first process."""
        if not self.started.done():
            self._fail(ShimLostError("the shim ended before it could start anything"))
        else:
            self._end(Ended(-signal.SIGKILL, time.time(), ""))

    def _fail(self, error: StartFailedError) -> None:
        self._close()
        self.started.set_exception(error)
        self.ended.cancel()

    def _end(self, ended: Ended) -> None:
        self._close()
        if not self.ended.done():
            self.ended.set_result(ended)

    def _close(self) -> None:
        self._loop.remove_reader(self._line)
        self._line.close()


class Cradle:
    """The process that a node's containers are forked from."""

    def __init__(self, scratch: Path) -> None:
        """Start it; it removes `scratch` should this process be killed."""
        self._scratch = scratch
        self._line, self._script = self._open()

    def _open(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-S", "-E", "-c", SCRIPT, str(ROOT), str(theirs.fileno()), str(os.getpid())]
            script = subprocess.Popen(
                [*command, str(self._scratch)],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True, env={},
            )  # fmt: skip
        return ours, script

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._script.pid

    def spawn(self, order: Order) -> Process:
        """Begin to start a program; look at `started` for what came of it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = {
            "argv": list(order.argv),
            "env": dict(order.env),
            "cwd": str(order.cwd),
            "log": str(order.log) if order.log else None,
        }
        sheet = os.memfd_create("order")
        try:
            with theirs, os.fdopen(os.dup(sheet), "wb") as file:
                file.write(json.dumps(words).encode())
                file.seek(0)
                self._send(theirs.fileno(), sheet)
        finally:
            os.close(sheet)
        return Process(ours)

    def _send(self, *fds: int) -> None:
        """Hand an order over; a cradle that somebody killed is made anew, its containers go on without it."""
        try:
            socket.send_fds(self._line, [b"!"], list(fds))
        except OSError:
            self._line.close()
            self._script.wait()
            self._line, self._script = self._open()
            socket.send_fds(self._line, [b"!"], list(fds))

    async def close(self) -> None:
        """End it, when its containers have ended."""
        with contextlib.suppress(OSError):
            self._line.send(GOODBYE)
        self._line.close()
        await asyncio.to_thread(self._script.wait)
