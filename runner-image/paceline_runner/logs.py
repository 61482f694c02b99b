"""What an attempt says, with job, fence and attempt on every line."""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from paceline.job import Claimed


class AttemptLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds which job it is."""

    def __init__(self, job: "Claimed") -> None:
        """For one attempt."""
        about = {"job": job.id, "kind": job.kind, "fence": job.fence, "attempt": job.tries + 1}
        super().__init__(logging.getLogger(f"paceline.jobs.{job.kind}"), about)

    def process(self, msg: object, kwargs: "MutableMapping[str, Any]") -> "tuple[object, MutableMapping[str, Any]]":
        """Our fields, and the caller's own."""
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs
