"""A process that cannot outlive the one that wanted it, not even when that one is killed with SIGKILL.

`Guarded` starts this same file as a small script between the owner and the program. The script watches the
owner by a pidfd and ends the program when the owner is gone; the program in turn asks the kernel to kill it when
the script is gone. So each of the three may die first, in any way, and nothing stays behind.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

PR_SET_PDEATHSIG = 1
POLL_MS = 200
"""How often a system without pidfds (anything but Linux) looks whether the owner is alive."""


class Guarded:
    """A running program, ended with its owner or by `stop()`."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        owner: int | None = None,
        env: Mapping[str, str] | None = None,
        account: tuple[int, int] | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        grace: float = 5.0,
        scratch: Path | None = None,
    ) -> None:
        """Start it; `owner` is this process if not given, `account` a (uid, gid) to run the program as.

        `scratch` is a folder that nobody else will remove once the owner has died.
        """
        self.log = log
        uid, gid = account or (-1, -1)
        reader, writer = os.pipe()
        script = [sys.executable, "-S", "-E", __file__, str(owner or os.getpid()), str(writer)]
        script += [
            str(int(stop_signal)),
            str(grace),
            str(uid),
            str(gid),
            str(scratch or ""),
            *map(str, command),
        ]
        with log.open("ab") as output, contextlib.closing(os.fdopen(reader)) as answer:
            self._script = subprocess.Popen(
                script, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                pass_fds=[writer], start_new_session=True,
            )  # fmt: skip
            os.close(writer)
            said = answer.read()
        self.pid = int(said or 0)
        """The program's own process id, 0 if it could not be started (the log says why)."""
        if not self.pid:
            self._script.wait()

    def alive(self) -> bool:
        """Whether the program still runs."""
        return bool(self.pid) and self._script.poll() is None

    def stop(self) -> None:
        """Ask the program to end, make it end after its grace period, and return when it is gone."""
        if self._script.poll() is None:
            self._script.terminate()
        self._script.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


def _die_with(parent: int) -> None:
    """Run in the program's process before it becomes the program: tie its life to the script's."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the script died between fork and prctl
            os._exit(1)


def _watch(pid: int) -> int | None:
    """Something that becomes readable when the process ends, where the system has such a thing."""
    return os.pidfd_open(pid) if sys.platform == "linux" else None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _orphaned(owner: int, program: subprocess.Popen[bytes], told: int) -> bool:
    """Wait until the owner is gone, the program has ended, or somebody told us to stop; whether it was the first."""
    try:
        owner_fd = _watch(owner)
    except ProcessLookupError:  # it died before we came to look
        return True
    program_fd = _watch(program.pid)
    poll = select.poll()
    for fd in (told, owner_fd, program_fd):
        if fd is not None:
            poll.register(fd, select.POLLIN)
    while not (ready := poll.poll(POLL_MS if owner_fd is None else None)):
        if not _exists(owner):
            return True
        if program.poll() is not None:
            return False
    return owner_fd in dict(ready)


def _end(program: subprocess.Popen[bytes], stop_signal: int, grace: float) -> None:
    """Stop the program politely, then its whole process group without asking."""
    if program.poll() is None:
        program.send_signal(stop_signal)
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(grace)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)


def _main(argv: Sequence[str]) -> int:
    owner, answer, stop_signal = (int(text) for text in argv[:3])
    grace, uid, gid, scratch = float(argv[3]), int(argv[4]), int(argv[5]), argv[6]
    told, tell = os.pipe()
    for fd in (tell, told):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(tell)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    me = os.getpid()
    os.set_inheritable(answer, False)
    program = subprocess.Popen(
        argv[7:],
        start_new_session=True,
        preexec_fn=lambda: _die_with(me),  # safe here: this script has one thread
        user=uid if uid >= 0 else None,
        group=gid if gid >= 0 else None,
        extra_groups=[gid] if gid >= 0 else None,
    )
    os.write(answer, str(program.pid).encode())
    os.close(answer)
    orphaned = _orphaned(owner, program, told)
    _end(program, stop_signal, grace)
    if scratch and orphaned:
        shutil.rmtree(scratch, ignore_errors=True)
    return program.wait()


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
