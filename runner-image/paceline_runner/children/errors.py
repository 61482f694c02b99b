"""What can go wrong with work outside the runner, as a retry policy's `stop_on` may name it."""

import signal

from paceline.errors import PacelineError


class OutsideError(PacelineError):
    """Work outside the runner that came to nothing."""


class NotStartedError(OutsideError):
    """A process that could not be started; `hopeless` if the next try would fare no better."""

    def __init__(self, message: str, *, hopeless: bool = False) -> None:
        super().__init__(message)
        self.hopeless = hopeless


class CommandError(OutsideError):
    """A command that did not end with 0; a signal is a negative code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class ProcessCrashedError(OutsideError):
    """A worker process that ended under its job; without a code if it is not known how."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class HttpError(OutsideError):
    """A server that did not do the work; without a status if it could not be reached."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def how(code: int) -> str:
    """How a process ended, for people."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (often: out of memory)" if -code == signal.SIGKILL else ""
    return f"was killed by {name}{hint}"
