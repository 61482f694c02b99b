"""What users need to test their own code: a queue in memory, one in a transaction, and a PostgreSQL server.

The names below are loaded when they are first used: the queue in memory needs neither a server nor its programs.
"""

from typing import TYPE_CHECKING, Final

from paceline.lazy import lazy

if TYPE_CHECKING:
    from paceline.testing.clock import ManualClock
    from paceline.testing.memory import MemoryJob, MemoryQueue, NotInMemoryError
    from paceline.testing.memory_runner import MemoryRunner
    from paceline.testing.postgres import PostgresError, PostgresServer, Programs, bundled, installed
    from paceline.testing.transactional import TransactionalQueue, transactional_queue
    from paceline.testing.work_off import WorkedOff

__all__ = [
    "ManualClock", "MemoryJob", "MemoryQueue", "MemoryRunner", "NotInMemoryError", "PostgresError", "PostgresServer",
    "Programs", "TransactionalQueue", "WorkedOff", "bundled", "installed", "transactional_queue",
]  # fmt: skip

_HOMES: Final = {
    "clock": ("ManualClock",),
    "memory": ("MemoryJob", "MemoryQueue", "NotInMemoryError"),
    "memory_runner": ("MemoryRunner",),
    "postgres": ("PostgresError", "PostgresServer", "Programs", "bundled", "installed"),
    "transactional": ("TransactionalQueue", "transactional_queue"),
    "work_off": ("WorkedOff",),
}

if not TYPE_CHECKING:  # a type checker would take it for a promise that every name exists
    __getattr__, __dir__ = lazy(globals(), _HOMES)
