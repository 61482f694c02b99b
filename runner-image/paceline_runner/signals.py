"""Which thread hears that the process was stopped and goes on."""

import signal


def leave_to_main() -> None:
    """Called first in every other thread: SIGCONT is the main thread's.

    The kernel then delivers it before the main thread runs anything else; it could give it to a thread that is not
    scheduled yet, and work whose lease has ended would go on until that one is.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})
