"""What the cradle asks Linux for. Standard library only, and little of it: every pod pays for the imports."""

import contextlib
import ctypes
import os
import signal

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None)


def adopt_strays() -> None:
    """Become the parent of descendants whose own parents end, however often they forked."""
    _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """Let the kernel kill us when our parent dies."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died between fork and prctl
        os._exit(127)


def reset_signals() -> None:
    """A program expects the defaults: what we and Python ignore would stay ignored in it."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def wake_by_children() -> int:
    """A descriptor that becomes readable when a child ends."""
    reader, writer = os.pipe()
    for fd in (reader, writer):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def children_of(pid: int) -> list[int]:
    """Those that a process and its threads started."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- pathlib would double the start
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123 -- as above
                found += map(int, file.read().split())
    return found


def kill_descendants(pid: int) -> None:
    """SIGKILL to all that a process started and all that those started."""
    for child in children_of(pid):
        kill_descendants(child)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
