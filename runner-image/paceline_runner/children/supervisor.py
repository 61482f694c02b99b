"""Starts programs, each in a session of its own, and makes sure that none outlives its welcome."""

import asyncio
import contextlib
import errno
import itertools
import mmap
import os
import signal
import socket
from contextlib import ExitStack
from typing import Final

from paceline_runner.children.child import Child
from paceline_runner.children.errors import NotStartedError
from paceline_runner.children.groups import Groups
from paceline_runner.children.guard import ENDED, STARTED
from paceline_runner.children.link import Link
from paceline_runner.children.pipes import Outlet, Sink, memory
from paceline_runner.children.program import Program

STARTING: Final = 8
"""So many children are started at once: each needs up to 9 descriptors until it runs, then 2 or 3."""


class Children:
    """The programs that a runner has started. Without any there is no guard process either.

    `start` and `close` belong to one event loop; `renew` and `kill_all` may be called from any thread.
    """

    def __init__(self, until: float) -> None:
        """Let children live until the monotonic time `until`, unless somebody renews."""
        self._shared_fd = memory(bytes(8), "paceline-lease")
        self._shared = mmap.mmap(self._shared_fd, 8)
        self._until = memoryview(self._shared).cast("d")
        self._until[0] = until
        self._groups = Groups()
        self._children: dict[int, Child] = {}
        self._numbers = itertools.count(1)
        self._starting = asyncio.Semaphore(STARTING)
        self._link: Link | None = None

    @property
    def guard_pid(self) -> int | None:
        """The guard's process id, if there is one."""
        return self._link.pid if self._link else None

    def renew(self, until: float) -> None:
        """Let children live until the monotonic time `until`; a store into memory that the guard reads, no more.

        It only moves forward: the guard sleeps until the moment that it has seen.
        """
        with contextlib.suppress(ValueError):  # closed
            self._until[0] = max(until, self._until[0])

    def kill_all(self) -> None:
        """Kill every group now, those included that are just being started."""
        self._groups.kill_all()

    async def start(self, program: Program, *, stdout: Sink, stderr: Sink, grace: float = 0.0) -> Child:
        """Start a program; returns when it runs. Its output goes to the sinks as it comes.

        A caller that is cancelled when the program may have begun already gives it `grace` seconds to end.
        """
        told = program.told()
        if self._shared_fd < 0:
            raise NotStartedError(f'program "{program.argv[0]}" cannot be started: the runner has ended')
        async with self._starting:
            try:
                return await self._start(program, told, stdout, stderr, grace)
            except OSError as error:
                raise NotStartedError(f'program "{program.argv[0]}" cannot be started now: {error.strerror}') from None

    async def close(self) -> None:
        """Kill everything, and end the guard."""
        self.kill_all()
        if link := self._link:
            guard = link.close()
            self._mourn(link)
            await asyncio.to_thread(guard.wait)
        if self._shared_fd >= 0:
            self._until.release()
            self._shared.close()
            os.close(self._shared_fd)
            self._shared_fd = -1

    async def _start(self, program: Program, told: bytes, stdout: Sink, stderr: Sink, grace: float) -> Child:
        if self._link is None:
            self._link = Link(self._shared_fd, self._heard, self._mourn)
        child = Child(next(self._numbers), self._link, self._groups)
        self._children[child.number] = child
        try:
            with ExitStack() as ours, ExitStack() as theirs:
                line, far = socket.socketpair()
                ours.enter_context(line)
                theirs.enter_context(far)
                theirs.callback(os.close, stdin := memory(program.stdin, "paceline-stdin"))
                fds = [far.fileno(), stdin]
                for sink in (stdout, stderr):
                    reader, writer = os.pipe()
                    theirs.callback(os.close, writer)
                    child.outlets.append(Outlet(asyncio.get_running_loop(), reader, sink))
                    fds.append(writer)
                if program.channel:
                    child.channel, channel = socket.socketpair()
                    fds.append(theirs.enter_context(channel).fileno())
                await self._link.start(child.number, fds)
                child.pid = await child.started
                theirs.close()
                await _tell(line, told, program)
        except BaseException as error:
            try:
                if child.pid and isinstance(error, asyncio.CancelledError):
                    await child.stop(grace)
            finally:
                self._children.pop(child.number, None)
                child.kill()
                child.forget()
            raise
        return child

    def _heard(self, number: int, word: int, value: int) -> None:
        child = self._children.get(number)
        if child is None:  # given up before it began; the guard has been told
            return
        if word == STARTED:
            self._groups.add(number, value, child.purges)
            _settle(child.started, value)
        elif word == ENDED:
            del self._children[number]
            _settle(child.ended, value)
        else:
            what = "the runner's lease has run out" if value == errno.ETIME else os.strerror(value)
            _fail(child.started, f"no process can be started now: {what}")

    def _mourn(self, link: Link) -> None:
        """The guard is dead, and nobody would end its children: they go with it, and the next child has a new one."""
        self._groups.kill_all()
        if self._link is link:
            self._link = None
        for child in self._children.values():
            child.lost = True
            _fail(child.started, "the guard of the child processes died while this one was started")
            _settle(child.ended, -signal.SIGKILL)
        self._children.clear()


async def _tell(line: socket.socket, told: bytes, program: Program) -> None:
    """Say on the line what to become: it closes without a word if that worked, or if the child was killed."""
    loop = asyncio.get_running_loop()
    line.setblocking(False)
    said = b""
    with contextlib.suppress(ConnectionError):
        await loop.sock_sendall(line, told)
        line.shutdown(socket.SHUT_WR)
        said = await loop.sock_recv(line, 64)
    if said:
        what, number = said.decode().split()
        raise program.refused(what, int(number))


def _settle(future: asyncio.Future[int], value: int) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[int], message: str) -> None:
    if not future.done():
        future.set_exception(NotStartedError(message))
        future.exception()  # nobody may be left to look at it
