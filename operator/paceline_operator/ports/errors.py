"""What can go wrong between the operator and the API server, by what the caller can do about it.

That an object is not there is no error: the port answers None or False.
"""

from dataclasses import dataclass

from paceline.errors import PacelineError


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that the API server objected to."""

    field: str
    reason: str
    message: str


class ClusterError(PacelineError):
    """The API server did not do what it was asked."""

    def __init__(self, message: str = "") -> None:
        """Without a message the class says what it means."""
        super().__init__(message or (type(self).__doc__ or "").partition("\n")[0])


class NoAccessError(ClusterError):
    """There is no way into a cluster: run in a pod with a service account, or set KUBECONFIG."""


class NotLeadingError(ClusterError):
    """Nothing was sent: another operator leads, or our lease may have run out."""


class UnreachableError(ClusterError):
    """The API server cannot be reached, or is not able to answer; the same request may succeed later."""


class AnsweredError(ClusterError):
    """The API server said no; `message` is in its own words."""

    verdict = "was refused"

    def __init__(self, request: str, status: int, message: str, causes: tuple[Cause, ...] = ()) -> None:
        """`request` is what we asked for, in words."""
        super().__init__(f"{request} {self.verdict}: {message} (HTTP {status})")
        self.request = request
        self.status = status
        self.message = message
        self.causes = causes


class RefusedError(AnsweredError):
    """The API server does not accept the object; the same request will fail again."""


class ForbiddenError(AnsweredError):
    """Not allowed: by RBAC, by an admission rule, or because a quota is used up."""

    verdict = "is forbidden"

    @property
    def quota(self) -> bool:
        """Whether a ResourceQuota is used up, so that it may work when something else ends."""
        return "exceeded quota" in self.message


class ConflictError(AnsweredError):
    """Somebody changed the object since we read it: read it again, and decide again."""

    verdict = "met a conflict"


class AlreadyExistsError(AnsweredError):
    """An object of that name is already there."""

    verdict = "found the name taken"
