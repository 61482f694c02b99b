"""What holds before a long-running command has begun: its imports alone take a second."""

import os
import signal


def leave_when_told() -> None:
    """Whoever tells us to leave is obeyed at once, also by process 1 of a container, which must listen for it."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
