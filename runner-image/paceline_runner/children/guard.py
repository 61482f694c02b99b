"""The process that ends a runner's children when the runner cannot, be it stopped, hung or killed with SIGKILL.

It needs nothing but the standard library, and is the parent of all children: it knows each from its first instant,
the kernel kills them when the guard dies, and on Linux even those that left their group fall back to it. It kills
everything when the owner is gone, and when the moment has passed that the owner keeps moving in shared memory.
A child that has ended stays a zombie until the owner lets go of it, so a process id that the owner knows is never
somebody else's.
"""

import contextlib
import errno
import mmap
import os
import select
import signal
import socket
import struct
import time
from typing import Final

from paceline_runner.children import kernel

RECORD: Final = struct.Struct("=qii")
"""The number of a child, a word, and what the word needs."""
START, RELEASE = 1, 2
"""From the owner: start a child with the descriptors that come along; kill what is left of it and forget it."""
STARTED, REFUSED, ENDED = 3, 4, 5
"""To the owner: its process id; the errno; its exit code, or a signal as a negative number."""
LEAST_FDS, MOST_FDS = 4, 5
"""The line on which the child is told what to become, its stdin, stdout and stderr; a worker has a channel too."""
POLL_MS: Final = 200
"""How often a system without pidfds (anything but Linux) looks whether the owner is alive."""
AGAIN_MS: Final = 50
"""How often those are killed again that should be dead."""
LONGEST_MS: Final = 3_600_000
LAST_SECONDS: Final = 10.0
"""So long the guard waits for the end of what it killed: a process stuck in the kernel must not keep it for ever."""
IGNORED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Whoever ends all processes of a service at once means the runner, which drains; the guard goes after it."""


class _Child:
    """A process with a group of its own; no dataclass, which would double the guard's start."""

    __slots__ = ("code", "pid", "released")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        self.released = False


class Guard:
    """All children of one owner."""

    def __init__(self, control: socket.socket, until: "memoryview[float]", owner: int) -> None:
        """Begin with none."""
        self._control = control
        self._until = until
        self._owner = owner
        self._me = os.getpid()
        self._children: dict[int, _Child] = {}
        self._strays = False
        self._unsaid = bytearray()
        self._signals, tell = os.pipe()
        for fd in (self._signals, tell, control.fileno()):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        self._owner_fd = kernel.watch(owner)
        self._poll = select.poll()
        for each in (self._signals, self._owner_fd):
            if each is not None:
                self._poll.register(each, select.POLLIN)

    def serve(self) -> None:
        """Do what the owner says until it is gone, then end everything."""
        while self._turn():
            pass
        self._end()

    def _turn(self) -> bool:
        control = self._control.fileno()
        self._poll.register(control, select.POLLIN | (select.POLLOUT if self._unsaid else 0))
        ready = dict(self._poll.poll(self._patience()))
        if self._owner_fd in ready or os.getppid() != self._owner:
            return False
        if self._signals in ready:
            os.read(self._signals, 4096)
        if ready.get(control, 0) & ~select.POLLOUT and not self._listen():
            return False
        self._look()
        if self._expired():
            self._kill()
        return self._speak()

    def _patience(self) -> float | None:
        """Milliseconds until there is something to do even if nobody says anything."""
        most = POLL_MS if self._owner_fd is None else None
        if not self._children and not self._strays:
            return most
        left = AGAIN_MS if self._expired() else min((self._until[0] - time.monotonic()) * 1000, LONGEST_MS)
        return left if most is None else min(left, most)

    def _expired(self) -> bool:
        return time.monotonic() >= self._until[0]

    def _listen(self) -> bool:
        try:
            said, fds, _, _ = socket.recv_fds(self._control, RECORD.size, MOST_FDS)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if len(said) < RECORD.size:
            return False
        for fd in fds:
            os.set_inheritable(fd, False)  # or it would be open in the child under a second number
        number, word, _ = RECORD.unpack(said)
        if word == START:
            self._start(number, fds)
        elif child := self._children.get(number):
            child.released = True
            kernel.kill_group(child.pid)
        return True

    def _start(self, number: int, fds: list[int]) -> None:
        """Fork at once and record it: there is no moment in which a child could get away."""
        refused = errno.ETIME if self._expired() else errno.EMFILE if len(fds) < LEAST_FDS else 0
        try:
            pid = 0 if refused else os.fork()
        except OSError as error:
            refused = error.errno or errno.EAGAIN
        else:
            if not refused and pid == 0:
                kernel.become(self._me, fds)
        if refused:
            self._say(number, REFUSED, refused)
        else:
            self._children[number] = _Child(pid)
            self._say(number, STARTED, pid)
        for fd in fds:
            os.close(fd)

    def _look(self) -> None:
        """Notice who has ended; bury those that nobody asks for any more."""
        for number, child in list(self._children.items()):
            if child.code is None and (code := kernel.exit_code(child.pid)) is not None:
                child.code = code
                self._say(number, ENDED, code)
            if child.released and child.code is not None:
                kernel.kill_group(child.pid)
                kernel.bury(child.pid)
                del self._children[number]
        known = {child.pid for child in self._children.values()}
        self._strays = False
        for pid in kernel.children_of(self._me):
            if pid not in known and not kernel.bury(pid):
                self._strays = True

    def _kill(self) -> None:
        known = {child.pid for child in self._children.values()}
        for pid in (*known, *kernel.descendants(self._me)):
            kernel.kill_group(pid)

    def _end(self) -> None:
        """Kill until nobody is left: who forks while dying leaves a child to us."""
        last = time.monotonic() + LAST_SECONDS
        self._kill()
        self._children.clear()
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < last:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
                self._kill()
                if select.select([self._signals], [], [], AGAIN_MS / 1000)[0]:
                    os.read(self._signals, 4096)

    def _say(self, number: int, word: int, value: int) -> None:
        self._unsaid += RECORD.pack(number, word, value)

    def _speak(self) -> bool:
        """Never waits: an owner that is stopped does not listen, and that is when the guard is needed."""
        try:
            while self._unsaid:
                del self._unsaid[: self._control.send(self._unsaid)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


def main(control: int, until: int, owner: int) -> None:
    """Guard the children of `owner`, who holds the other end of `control` and keeps its deadline in `until`."""
    kernel.adopt_strays()
    with socket.socket(fileno=control) as connection, mmap.mmap(until, 8) as shared:
        for fd in (control, until):
            os.set_inheritable(fd, False)
        Guard(connection, memoryview(shared).cast("d"), owner).serve()
        os._exit(0)
