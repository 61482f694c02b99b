"""Pods that the API server does not let us make: it is not asked again at once, and a changed spec is tried at once."""

from dataclasses import dataclass
from datetime import UTC, datetime

from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.failures import Failures
from paceline_operator.domain.objects import build_pod, template_problem
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.revision import revision_of
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.errors import AnsweredError, ForbiddenError, RefusedError

FIRST = 5
"""The first wait is what a fifth failure waits: 8 seconds."""


def why_refused(error: AnsweredError) -> tuple[Reason, str]:
    """What the API server's answer means for the group; the words are its own."""
    quota = isinstance(error, ForbiddenError) and error.quota
    return (Reason.QUOTA if quota else Reason.TEMPLATE_REFUSED), error.message


@dataclass(slots=True)
class Refusals:
    """Of one group, for one revision of it."""

    why: tuple[Reason, str] | None = None
    """What the API server said, until the next try."""
    _revision: str = ""
    _failures: Failures | None = None
    _checked: str = ""

    async def check(self, cluster: Cluster, group: RunnerGroup, install: str) -> None:
        """Try a new revision without making anything: a template that is refused is told before it is needed."""
        revision, now = revision_of(group), datetime.now(UTC)
        known = revision == self._checked or group.spec.template is None or template_problem(group)
        if known or self.holds(revision, now):
            return
        try:
            await cluster.apply(build_pod(group, f"{group.metadata.name}-check", "check", 1, install), dry_run=True)
        except (RefusedError, ForbiddenError) as error:
            refused = why_refused(error)
            if refused[0] is not Reason.QUOTA:  # whether a pod more is allowed is seen when one is made
                self.note(refused, revision, now, tried=True)
                return
        self._checked = revision

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
