"""What users need to test their own code: a queue in memory, one in a transaction, and a PostgreSQL server.

The names below are loaded when they are first used: the queue in memory needs neither a server nor its programs.
"""

import importlib
from typing import TYPE_CHECKING, Final

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
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name from the module that has it."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What can be had, loaded or not."""
    return sorted({*globals(), *__all__})
