"""The one error of the development tools: `python -m paceline_dev` prints it as a single line and exits with 1."""

from paceline.errors import PacelineError


class DevError(PacelineError):
    """Something is missing on this machine; the message says what, and what to do about it."""
