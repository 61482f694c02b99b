"""The runner's end of one guard process: starts it, talks to it, notices its end."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import paceline_runner
from paceline_runner.children.guard import RECORD, RELEASE, START

ROOT: Final = Path(paceline_runner.__file__).parent.parent
SCRIPT: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from paceline_runner.children.guard import main; main(*map(int, sys.argv[2:]))"
)
"""Isolated and without site-packages: 20 ms, and no setting of the user's can break it."""
PAUSE: Final = 0.02
"""Before a word is said again for which a full socket had no room."""


class Link:
    """One guard and the socket to it. Used in the loop's thread alone."""

    def __init__(self, until: int, heard: Callable[[int, int, int], None], lost: Callable[["Link"], None]) -> None:
        """Start a guard that reads its deadline from the descriptor `until`."""
        self._heard = heard
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._socket, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(ROOT)]
            try:
                self._guard = subprocess.Popen(
                    [*command, str(theirs.fileno()), str(until), str(os.getpid())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno(), until],
                    start_new_session=True,  # what a terminal or an init sends to the runner's group is not for it
                )
            except BaseException:
                self._socket.close()
                raise
        self.pid = self._guard.pid
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket.fileno(), self._listen)

    async def start(self, number: int, fds: Sequence[int]) -> None:
        """Hand a new child's descriptors over."""
        while self._socket.fileno() >= 0:
            try:
                socket.send_fds(self._socket, [RECORD.pack(number, START, 0)], fds)
            except BlockingIOError:
                await asyncio.sleep(PAUSE)
            except OSError:  # the reader will notice, and tell everybody
                return
            else:
                return

    def release(self, number: int) -> None:
        """Let the guard kill what is left of a child and forget it."""
        if self._socket.fileno() < 0:
            return
        try:
            self._socket.send(RECORD.pack(number, RELEASE, 0))
        except BlockingIOError:
            self._loop.call_later(PAUSE, self.release, number)
        except OSError:
            return

    def close(self) -> subprocess.Popen[bytes]:
        """Hang up: the guard kills everything and ends. It is still to be waited for."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
        return self._guard

    def _listen(self) -> None:
        try:
            data = self._socket.recv(RECORD.size * 256)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            guard = self.close()
            guard.kill()  # it is dead already, or it is no use
            guard.wait()
            self._lost(self)
            return
        self._buffer += data
        whole = len(self._buffer) - len(self._buffer) % RECORD.size
        said = bytes(self._buffer[:whole])
        del self._buffer[:whole]
        for number, word, value in RECORD.iter_unpack(said):
            self._heard(number, word, value)
