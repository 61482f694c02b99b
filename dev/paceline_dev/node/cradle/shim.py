"""One container: its first process, everything that descends from it, and its output.

The shim is the parent of the first process and of all strays (it is a subreaper), so nothing of a container can get
away, however it forks. When the first process ends, the others are killed, as a container's are. When the node is
gone, all are. When somebody kills the shim, the kernel kills the first process and the cradle kills the strays.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from typing import Any, NoReturn

from paceline_dev.node.cradle import kernel
from paceline_dev.node.cradle.journal import Journal

CHUNK = 65536
MOST_OUTPUT = 10 * 1024
"""How much of an exec's output is kept: the kubelet keeps 10 KB of a probe's."""
AGAIN_MS = 20
"""How often those are killed again that should be dead."""
KILL = 0
"""The order to kill everything; every other number is a signal for the first process."""


class Shim:
    """A container while it runs."""

    def __init__(self, control: socket.socket, order: dict[str, Any], owner: int) -> None:
        """Take over a line to the node, what to run, and a descriptor that tells when the node is gone."""
        self._control = control
        self._order = order
        self._owner = owner
        self._me = os.getpid()
        self._journal = Journal(order["log"]) if order["log"] else None
        self._kept = bytearray()
        self._children = kernel.wake_by_children()
        self._pipes: dict[int, str] = {}
        self._main = 0
        self._code: int | None = None

    def run(self) -> None:
        """Start it, wait for its end, and say how it was."""
        if not self._start():
            return
        while self._code is None and self._turn(None):
            pass
        self._clear()
        self._drain()
        if self._journal:
            self._journal.end()
        self._say(ended=self._code, at=time.time(), output=self._kept.decode(errors="replace"))

    def _start(self) -> bool:
        ends = [os.pipe(), os.pipe()]
        failed, fail = os.pipe()
        self._main = os.fork()
        if self._main == 0:
            self._become([ends[0][1], ends[1][1]], fail)
        for fd in (ends[0][1], ends[1][1], fail):
            os.close(fd)
        for (reader, _), stream in zip(ends, ("stdout", "stderr"), strict=True):
            os.set_blocking(reader, False)
            self._pipes[reader] = stream
        with os.fdopen(failed, "rb") as answer:
            trouble = answer.read().decode()
        if trouble:
            os.waitpid(self._main, 0)
            self._say(failed=trouble)
            return False
        self._say(started=self._main, at=time.time())
        return True

    def _become(self, outputs: list[int], fail: int) -> NoReturn:
        """In the new process."""
        try:
            os.setsid()
            kernel.die_with(self._me)
            kernel.reset_signals()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for place, fd in enumerate(outputs, start=1):
                os.dup2(fd, place)
            argv, env, cwd = self._order["argv"], self._order["env"], self._order["cwd"]
            what = f"chdir to cwd ({json.dumps(cwd)}) set in config.json failed"
            os.chdir(cwd)
            what = f"exec: {json.dumps(argv[0])}"
            os.execvpe(argv[0], argv, env)  # noqa: S606 -- this is the place where containers are started
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            os.write(fail, f"{what}: {words}".encode())
        finally:
            os._exit(127)

    def _turn(self, patience: int | None) -> bool:
        """Wait for something and deal with it; whether the node is still there."""
        poll = select.poll()
        for fd in (self._control.fileno(), self._owner, self._children, *self._pipes):
            poll.register(fd, select.POLLIN)
        ready = dict(poll.poll(patience))
        if self._owner in ready or (self._control.fileno() in ready and not self._obey()):
            return False
        if self._children in ready:
            os.read(self._children, 4096)
        for fd in [fd for fd in self._pipes if fd in ready]:
            self._read(fd)
        self._bury()
        return True

    def _obey(self) -> bool:
        try:
            said = self._control.recv(64)
        except OSError:
            return False
        if not said:
            return False
        number = int(said)
        if number == KILL:
            kernel.kill_descendants(self._me)
        elif self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._main, number)
        return True

    def _bury(self) -> bool:
        """Reap whoever has ended; whether somebody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._main:
                self._code = os.waitstatus_to_exitcode(status)

    def _clear(self) -> None:
        """Kill until nobody is left: who forks while dying leaves a child to us."""
        kernel.kill_descendants(self._me)
        while self._bury():
            select.select([self._children], [], [], AGAIN_MS / 1000)
            with contextlib.suppress(BlockingIOError):
                os.read(self._children, 4096)
            for fd in list(self._pipes):
                self._read(fd)
            kernel.kill_descendants(self._me)

    def _drain(self) -> None:
        for fd in list(self._pipes):
            while self._read(fd):
                pass

    def _read(self, fd: int) -> bool:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            os.close(fd)
            del self._pipes[fd]
            return False
        if self._journal:
            self._journal.add(self._pipes[fd], data)
        else:
            self._kept += data[: MOST_OUTPUT - len(self._kept)]
        return True

    def _say(self, **words: object) -> None:
        with contextlib.suppress(OSError):  # the node is gone, and nobody listens
            self._control.send(json.dumps(words).encode())


def main(control: int, order: int, owner: int) -> NoReturn:
    """Be the shim of one container, and end with it."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    try:
        os.setsid()
        kernel.adopt_strays()
        with os.fdopen(order, "rb") as file:
            told = json.load(file)
        Shim(socket.socket(fileno=control), told, owner).run()
    finally:
        os._exit(0)
