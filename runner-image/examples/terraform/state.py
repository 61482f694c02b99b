"""What there is, in a file for each workspace, which nobody writes who comes too late."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel


class StaleError(Exception):
    """Somebody with a later claim has the state: whatever this one still wants to write is the past."""


class State(BaseModel):
    """The resources by name, and the highest fence that has written here."""

    fence: int = 0
    serial: int = 0
    files: dict[str, str] = {}


class Store:
    """One file. Reading it takes it: from then on a smaller fence is refused."""

    def __init__(self, path: Path, fence: int) -> None:
        """For one attempt."""
        self._path, self._fence = path, fence
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def take(self) -> State:
        """What there is; nobody from before writes any more."""
        with self._locked() as state:
            self._write(state)
            return state

    def save(self, files: dict[str, str]) -> None:
        """What there is now."""
        with self._locked() as state:
            state.files = files
            self._write(state)

    @contextmanager
    def _locked(self) -> Iterator[State]:
        """Between reading and writing nobody else does either."""
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = State.model_validate_json(self._path.read_text()) if self._path.exists() else State()
            if state.fence > self._fence:
                raise StaleError(
                    f"{self._path.name} was written with fence {state.fence}, this attempt has {self._fence}"
                )
            yield state

    def _write(self, state: State) -> None:
        """Whole or not at all."""
        state.fence, state.serial = self._fence, state.serial + 1
        draft = self._path.with_suffix(".draft")
        with draft.open("w") as file:
            file.write(state.model_dump_json(indent=2))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
