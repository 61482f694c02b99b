"""Paceline: jobs in Postgres, claimed by exactly one runner each.

The names below are loaded when they are first used: `import paceline` itself costs nothing, and a program that only
enqueues never loads what only runners need.
"""

from typing import TYPE_CHECKING, Final

from paceline.lazy import lazy

if TYPE_CHECKING:
    from paceline.context import Context, JobInfo, Next
    from paceline.cron import Cron, CronEntry
    from paceline.errors import (
        DatabaseError,
        GatewayError,
        InvalidInputError,
        NameTakenError,
        NotAllowedError,
        NotEligibleError,
        NotFoundError,
        NotInOfficeError,
        PacelineError,
        PoolConflictError,
        PoolFullError,
        RequestMismatchError,
        SchemaError,
        TooManyLanesError,
    )
    from paceline.handler import Handler
    from paceline.handlers import Jobs
    from paceline.job import Enqueued, Fence, JobId, NewJob
    from paceline.queue import Queue
    from paceline.retry import Custom, Exponential, Fixed, GiveUp, Linear, Never, Retry, RetryPolicy
    from paceline.sync import SyncQueue

__all__ = [
    "Context", "Cron", "CronEntry", "Custom", "DatabaseError", "Enqueued", "Exponential", "Fence", "Fixed",
    "GatewayError", "GiveUp", "Handler", "InvalidInputError", "JobId", "JobInfo", "Jobs", "Linear", "NameTakenError",
    "Never", "NewJob", "Next", "NotAllowedError", "NotEligibleError", "NotFoundError", "NotInOfficeError",
    "PacelineError", "PoolConflictError", "PoolFullError", "Queue", "RequestMismatchError", "Retry", "RetryPolicy",
    "SchemaError", "SyncQueue", "TooManyLanesError",
]  # fmt: skip

_HOMES: Final = {
    "context": ("Context", "JobInfo", "Next"),
    "cron": ("Cron", "CronEntry"),
    "errors": tuple(name for name in __all__ if name.endswith("Error")),
    "handler": ("Handler",),
    "handlers": ("Jobs",),
    "job": ("Enqueued", "Fence", "JobId", "NewJob"),
    "queue": ("Queue",),
    "retry": ("Custom", "Exponential", "Fixed", "GiveUp", "Linear", "Never", "Retry", "RetryPolicy"),
    "sync": ("SyncQueue",),
}

if not TYPE_CHECKING:  # a type checker would take it for a promise that every name exists
    __getattr__, __dir__ = lazy(globals(), _HOMES)
