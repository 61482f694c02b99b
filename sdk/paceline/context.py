"""What the code of users is given: a handler its Context, a middleware the job and the way on. Promises, no code."""

import logging
from collections.abc import Awaitable
from datetime import timedelta
from typing import Protocol

from pydantic import JsonValue

from paceline.job import Fence, JobId


class Context(Protocol):
    """What a handler may know and do while it runs. No method waits for the network, so sync handlers may call them."""

    @property
    def job_id(self) -> JobId:
        """The job's number: the same in every try."""

    @property
    def fence(self) -> Fence:
        """Grows with every claim: hand it to systems outside, and let them refuse a smaller one than they have seen."""

    @property
    def tries(self) -> int:
        """How many tries of this job have failed before this one."""

    @property
    def should_stop(self) -> bool:
        """Somebody cancelled the job, or the runner has to leave: finish or give up soon."""

    @property
    def log(self) -> logging.Logger:
        """Lines that are kept with the attempt."""

    def progress(self, value: JsonValue) -> None:
        """Tell those who watch how far it is; the last value counts."""

    def extend(self, by: timedelta) -> None:
        """Move this try's timeout, from now on."""


class JobInfo(Protocol):
    """The job that a middleware is called for. It can be looked at, and nothing of it can be changed."""

    @property
    def id(self) -> JobId:
        """The same in every try."""

    @property
    def fence(self) -> Fence:
        """Grows with every claim."""

    @property
    def kind(self) -> str:
        """What the handler is registered for."""

    @property
    def body(self) -> str:
        """The payload as JSON, as it is stored."""

    @property
    def priority(self) -> int:
        """0 to 9, higher first."""

    @property
    def tries(self) -> int:
        """How many tries have failed before this one."""

    @property
    def losses(self) -> int:
        """How many runners were lost under it."""

    @property
    def trace(self) -> str | None:
        """The W3C traceparent of whoever enqueued it."""

    @property
    def waited(self) -> float:
        """Seconds from becoming ready to this claim."""


class Next(Protocol):
    """The way on from a middleware: the next one, and at last the handler."""

    def __call__(self) -> Awaitable[object]:
        """Go on; what comes back is the result, as the next one left it."""
