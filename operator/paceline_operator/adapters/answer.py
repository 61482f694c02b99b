"""What the API server answered, and which error that is."""

import json
from dataclasses import dataclass, field

from paceline_operator.ports.cluster import Manifest
from paceline_operator.ports.errors import (
    AlreadyExistsError,
    AnsweredError,
    Cause,
    ClusterError,
    ConflictError,
    ForbiddenError,
    RefusedError,
    UnreachableError,
)

BAD_PATCH = "failed to create typed patch object"
"""How the API server (1.36) refuses an apply with an unknown field or a wrong type: as a 500 without a reason.

Raw errors of etcd come as a 500 without a reason as well, so the words decide: this one will not go away.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, good or bad."""

    request: str
    status: int
    body: Manifest = field(repr=False)
    retry_after: float = 0.0

    @classmethod
    def parse(cls, request: str, status: int, raw: bytes, retry_after: float = 0.0) -> "Answer":
        """Read the JSON; plain text is only what a path that is not served gets, or a proxy says."""
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            if status < 400:
                return cls(request, 502, {"message": "the answer is not JSON"}, retry_after)
            body = {"message": raw[:1024].decode(errors="replace").strip()}
        return cls(request, status, body, retry_after)

    @property
    def reason(self) -> str:
        """The API server's own word for it."""
        return str(self.body.get("reason") or "")

    @property
    def message(self) -> str:
        """The API server's own sentence."""
        return str(self.body.get("message") or self.reason or "no reason was given")

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The fields that it objected to, each once."""
        found = (self.body.get("details") or {}).get("causes") or ()
        causes = (Cause(c.get("field", ""), c.get("reason", ""), c.get("message", "")) for c in found)
        return tuple(dict.fromkeys(causes))

    @property
    def refused_patch(self) -> bool:
        """Whether this 500 is about what we sent."""
        return self.status == 500 and self.message.startswith(BAD_PATCH)

    @property
    def overloaded(self) -> bool:
        """Whether the server turned us away before it looked at the request."""
        return self.status == 429

    @property
    def broken(self) -> bool:
        """Whether the server failed, perhaps after it had carried the request out."""
        return self.status >= 500 and not self.refused_patch

    @property
    def contended(self) -> bool:
        """Whether others wrote at the same moment: to the object, or to the quota that it counts against."""
        return self.status == 409 and self.reason == "Conflict"

    def missing(self, name: str) -> bool:
        """Whether there is no object of that name. A kind that is not served is a 404 as well, but names nothing."""
        return self.status == 404 and (self.body.get("details") or {}).get("name") == name

    @property
    def other_uid(self) -> bool:
        """Whether the object has another uid than we said."""
        return self.status == 422 and any(cause.field == "metadata.uid" for cause in self.causes)

    def require(self) -> Manifest:
        """The object that was asked for, or the error that came instead."""
        if self.status < 400:
            return self.body
        raise self.error()

    def error(self) -> ClusterError:
        """The error that says what the caller can do."""
        if self.overloaded or self.broken:
            return UnreachableError(f"{self.request} failed: {self.message} (HTTP {self.status})")
        kind: type[AnsweredError] = RefusedError
        message = self.message
        if self.status in (401, 403):
            kind = ForbiddenError
        elif self.reason == "AlreadyExists":
            kind = AlreadyExistsError
        elif self.status == 409 or self.other_uid:
            kind = ConflictError
        elif self.status == 404 and not self.reason:
            message = f"the API server does not serve this kind of object ({message}): are the CRDs installed?"
        if self.status == 401:
            message = f"the API server does not accept our credentials ({message})"
        return kind(self.request, self.status, message, self.causes)
