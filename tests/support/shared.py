"""One server for all processes of a test run: the first that needs it starts it, the run's end ends it."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

KEPT: list[object] = []
"""Servers that this process started for the whole run: they end with the run, not with their Python object."""


def owner() -> int:
    """The process that lives as long as the run: pytest's main process, also when asked in a worker."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def shared(
    factory: pytest.TempPathFactory, name: str, start: Callable[[int], tuple[object, dict[str, str]]]
) -> dict[str, str]:
    """How to reach what `start(owner)` started, in this process or in the first that asked for `name`."""
    base = factory.getbasetemp()
    folder: Path = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = folder / f"{name}.json"
        if not answer.exists():
            server, said = start(owner())
            KEPT.append(server)
            draft = answer.with_suffix(".draft")
            draft.write_text(json.dumps(said))
            draft.replace(answer)
        found: dict[str, str] = json.loads(answer.read_text())
        return found
