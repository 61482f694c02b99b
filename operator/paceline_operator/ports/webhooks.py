"""Telling people what is wrong where they look, by a request to whoever passes it on."""

from datetime import datetime
from typing import Protocol

from paceline_operator.domain.alerts.notice import Notice


class Webhooks(Protocol):
    """Where alerts go."""

    def tell(self, notice: Notice) -> None:
        """Have it told, once however often it is said here; never fails, and never keeps the caller waiting."""
        ...

    def told(self, notice: Notice) -> datetime | None:
        """When every receiver had taken it, or was given up on; None: not yet."""
        ...
