"""What the guard asks the system for. Linux can do all of it; macOS has no pidfds, and strays are not found there."""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ABOVE = 10
"""Descriptors are moved up here first, out of the way of those that the child shall have."""
_LIBC = ctypes.CDLL(None)


def kill_group(pid: int) -> None:
    """Kill a child and its group; the child by itself too, for in its first instant it has no group yet."""
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def become(guard: int, fds: Sequence[int]) -> NoReturn:
    """In the new process: wait on the line until the owner says what to become, and become it."""
    line, failed = fds[0], "session"
    try:
        line, *given = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, ABOVE) for fd in fds)
        os.setsid()
        _tie_to(guard)
        _reset_signals()
        for place, fd in enumerate(given):
            os.dup2(fd, place)
        with os.fdopen(line, "rb", closefd=False) as said:
            told = json.loads(said.read())  # no JSON if the owner dies half-way
        argv = [_bytes(each) for each in told["argv"]]
        env = {_bytes(key): _bytes(value) for key, value in told["env"].items()}
        failed = "cwd"
        if told["cwd"]:
            os.chdir(_bytes(told["cwd"]))
        failed = "program"
        os.execvpe(argv[0], argv, env)  # noqa: S606 -- this is the place where children are started
    except OSError as error:
        os.write(line, f"{failed} {error.errno}".encode())
    finally:
        os._exit(127)


def _tie_to(guard: int) -> None:
    """Let the kernel kill us when the guard dies."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:  # it died between fork and prctl
        os._exit(127)


def _reset_signals() -> None:
    """A program expects the defaults: what the guard and Python ignore would stay ignored in it."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _bytes(text: str) -> bytes:
    """Names and values are bytes to the system; they come through JSON as one character for each."""
    return text.encode("latin-1")


def adopt_strays() -> None:
    """Become the parent of descendants whose own parents end, if the kernel tells later who they are."""
    if children_of(os.getppid()):
        _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _LIBC.prctl(option, value, 0, 0, 0)


def watch(pid: int) -> int | None:
    """Something that becomes readable when the process ends, where the system has such a thing."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # forbidden or unknown in some sandboxes
        return None


def exit_code(pid: int) -> int | None:
    """How a child ended, a signal as a negative number; it stays unburied, so its number stays its own.

    macOS has no way to look at a child without burying it, before Python 3.13.
    """
    if not hasattr(os, "waitid"):
        done, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if done else None
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def bury(pid: int) -> bool:
    """Whether the child is no more."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def children_of(pid: int) -> list[int]:
    """Those that a process and its threads started; none where the kernel does not tell."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- pathlib would double the guard's start
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123 -- as above
                found += map(int, file.read().split())
    return found


def descendants(pid: int) -> Iterator[int]:
    """The children, and theirs."""
    for child in children_of(pid):
        yield child
        yield from descendants(child)
