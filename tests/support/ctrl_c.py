"""In a shell's background job SIGINT is ignored, and everything that a test starts would ignore Ctrl-C too."""

import signal


def hear() -> None:
    """For this process, and for all that it starts from now on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
