"""The first process of a container has duties that a runner cannot do beside its work: it buries orphans."""

import os
import signal
import sys
from types import FrameType
from typing import Final

FORWARDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def be_init() -> None:
    """As process 1: fork, and return only in the child. The parent passes signals on, buries, and ends as it does.

    A handler that leaves a process behind leaves it to process 1; nobody else may wait for it, and the runner must not
    wait for processes that it does not know: that would take the exit codes of those that handlers started.
    """
    if os.getpid() == 1:
        _stand_before()


def _stand_before() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # none may come before there is somebody to pass it to
    child = os.fork()
    if child:

        def forward(number: int, _: FrameType | None) -> None:
            os.kill(child, number)

        for each in FORWARDED:
            signal.signal(each, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        _bury_until(child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)


def _bury_until(child: int) -> None:
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            sys.stderr.flush()
            os._exit(128 - code if code < 0 else code)
