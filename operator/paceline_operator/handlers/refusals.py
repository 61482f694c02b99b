"""Pods that the API server does not let us make: it is not asked again at once, and a changed spec is tried at once."""

from dataclasses import dataclass
from datetime import datetime

from paceline_operator.domain.failures import Failures
from paceline_operator.domain.reasons import Reason

FIRST = 5
"""The first wait is what a fifth failure waits: 8 seconds."""


@dataclass(slots=True)
class Refusals:
    """Of one group, for one revision of it."""

    why: tuple[Reason, str] | None = None
    """What the API server said, until the next try."""
    _revision: str = ""
    _failures: Failures | None = None

    def holds(self, revision: str, now: datetime) -> bool:
        """Whether to wait before the next try."""
        if revision != self._revision or (self._failures is not None and now >= self._failures.wait_until()):
            self.why = None
        return self.why is not None

    def note(self, refused: tuple[Reason, str] | None, revision: str, now: datetime, *, tried: bool) -> None:
        """What came of the last turn."""
        if refused is not None:
            again = self._failures is not None and revision == self._revision
            count = self._failures.count + 1 if self._failures is not None and again else FIRST
            self.why, self._revision, self._failures = refused, revision, Failures(count, now)
        elif tried:
            self.why = self._failures = None

    @property
    def until(self) -> datetime | None:
        """When the next try is due."""
        return None if self.why is None or self._failures is None else self._failures.wait_until()
