"""The runner of somebody who writes code: a child process that starts anew when a .py file is saved.

It is a process of its own, so that whatever handlers do to it, whoever watches it goes on; and it is guarded, so that
it ends with them, even if they are killed.
"""

import asyncio
import contextlib
import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from paceline.testing.guard import Guarded
from paceline_runner.children.errors import how

MOST_FILES: Final = 5_000
"""Looking at so many takes about 30 ms; those nearest to the folder are watched."""
LOOK: Final = 0.5
PATIENCE: Final = 5.0
"""Seconds that jobs have to end before a restart."""
FORCE: Final = 6.0
"""Seconds from the second signal to the kill: the runner itself gives handlers 5 of them."""
SHORT_LIFE: Final = 5.0
LONGEST_PAUSE: Final = 10.0
LONGEST_LINE: Final = 4_000
LAST_LINES: Final = 20
COULD_NOT_START: Final = (1, 2)
"""Exit codes of `paceline run`: something is wrong with the code or the options, and trying again is pointless."""
_SKIPPED: Final = frozenset(("__pycache__", "node_modules"))


class Watcher(Protocol):
    """Whoever wants to know what the runner does."""

    def heard(self, line: str) -> None:
        """The runner, or a handler in it, wrote a line."""

    def note(self, text: str) -> None:
        """Something happened to the runner."""

    def broken(self, why: str | None) -> None:
        """It could not start and waits for a change; None: it is being started."""


class Sources:
    """The .py files below a folder. Hidden folders, environments and node_modules are none of ours."""

    def __init__(self, folder: Path, most: int = MOST_FILES) -> None:
        """Remember how they are now."""
        self._folder, self._most = folder, most
        self.capped = False
        """There are more, and they are not watched."""
        self._seen = self._look()

    def changed(self) -> list[str]:
        """Which ones were saved, added or removed since last asked, relative to the folder."""
        before, self._seen = self._seen, self._look()
        either = before.keys() | self._seen.keys()
        return sorted(name for name in either if before.get(name) != self._seen.get(name))

    def unripe(self) -> float:
        """Seconds until the newest file is of a second that is over.

        Python tells a compiled file from its source by whole seconds and the size: what is compiled within the second
        of a save would be taken for the next save of that second, too.
        """
        newest = max((stamp for stamp, _ in self._seen.values()), default=0) / 1e9
        return min(1.0, max(0.0, math.floor(newest) + 1 - time.time()))

    def _look(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        folders = deque([str(self._folder)])
        self.capped = False
        while folders:
            with contextlib.suppress(OSError), os.scandir(folders.popleft()) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
                if any(entry.name == "pyvenv.cfg" for entry in listed):
                    continue
                for entry in listed:
                    if entry.name.startswith(".") or entry.name in _SKIPPED:
                        continue
                    with contextlib.suppress(OSError):  # gone since it was listed
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        elif entry.name.endswith(".py"):
                            if len(found) >= self._most:
                                self.capped = True
                                return found
                            about = entry.stat()
                            found[os.path.relpath(entry.path, self._folder)] = about.st_mtime_ns, about.st_size
        return found


class Child(Guarded):
    """A program whose lines are heard as it writes them."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], heard: Callable[[str], None]) -> None:
        """Start it."""
        reader, writer = os.pipe()
        try:
            # a pipe by its path: Guarded opens the file that is its log
            super().__init__(command, log=Path(f"/dev/fd/{writer}"), env=env, grace=FORCE)
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self.end = asyncio.create_task(self._end(reader, heard))
        """Its exit code, a signal as a negative number, once it has ended and what it wrote is read."""

    async def _end(self, reader: int, heard: Callable[[str], None]) -> int:
        lines = asyncio.create_task(_listen(reader, heard))
        code = await asyncio.to_thread(self._script.wait)
        await asyncio.wait([lines], timeout=1)  # somebody whom it started may hold the pipe for ever
        lines.cancel()
        return code - 256 if code > 192 else code

    async def leave(self, patience: float, hurry: asyncio.Event) -> None:
        """Let it finish, then hand back, then end it by force; at once when somebody is in a hurry."""
        self._send(signal.SIGTERM)
        await first(asyncio.shield(self.end), hurry.wait(), asyncio.sleep(patience))
        if not self.end.done():
            stopped = asyncio.create_task(asyncio.to_thread(self.stop))  # the second SIGTERM, and after FORCE a kill
            await first(asyncio.shield(self.end), hurry.wait())
            self._send(signal.SIGKILL)
            await stopped
        await self.end

    def _send(self, number: signal.Signals) -> None:
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Reloader:
    """Keeps a runner going: after a crash, after a change, until it is told to stop."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        watcher: Watcher,
        sources: Sources | None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        """Without `sources` nothing is reloaded."""
        self._command, self._env, self._watcher, self._sources = command, env, watcher, sources
        self._patience = patience
        self._pause = 0.0
        self._last: deque[str] = deque(maxlen=LAST_LINES)

    async def run(self, stop: asyncio.Event, hurry: asyncio.Event) -> int:
        """Until `stop`, or until it cannot go on; the exit code."""
        while not stop.is_set():
            self._last.clear()
            self._watcher.broken(None)
            began = time.monotonic()
            child = Child(self._command, self._env, self._heard)
            changed = asyncio.create_task(self._changed())
            try:
                await first(asyncio.shield(child.end), asyncio.shield(changed), stop.wait())
                if not child.end.done():
                    await self._replace(child, changed, stop, hurry)
                elif not await self._after(child.end.result(), time.monotonic() - began, changed, stop):
                    return COULD_NOT_START[0]
            finally:
                changed.cancel()
                if not child.end.done():
                    await asyncio.to_thread(child.stop)
        return 0

    def _heard(self, line: str) -> None:
        self._last.append(line)
        self._watcher.heard(line)

    async def _changed(self) -> list[str]:
        """Return when something was saved."""
        if self._sources is None:
            await asyncio.Event().wait()
        assert self._sources is not None
        while True:
            await asyncio.sleep(LOOK)
            if names := await asyncio.to_thread(self._sources.changed):
                return names

    async def _replace(
        self, child: Child, changed: "asyncio.Task[list[str]]", stop: asyncio.Event, hurry: asyncio.Event
    ) -> None:
        if stop.is_set():
            await child.leave(min(self._patience, 2.0), hurry)
            return
        self._watcher.note(f"{_some(changed.result())} changed: the runner starts anew")
        await asyncio.gather(child.leave(self._patience, hurry), self._ripe())
        self._pause = 0.0

    async def _ripe(self) -> None:
        assert self._sources is not None
        await asyncio.sleep(self._sources.unripe())

    async def _after(
        self, code: int, lived: float, changed: "asyncio.Task[list[str]]", stop: asyncio.Event
    ) -> bool:  # fmt: skip
        """It ended by itself. Whether to start another one, once it is time."""
        if code in COULD_NOT_START:
            self._watcher.broken(_reason(self._last))
            if self._sources is None:
                return False
            await first(asyncio.shield(changed), stop.wait())
            if changed.done():
                self._watcher.note(f"{_some(changed.result())} changed: the runner starts anew")
                await self._ripe()
            return True
        self._pause = 0.0 if lived >= SHORT_LIFE else min(LONGEST_PAUSE, max(1.0, self._pause * 2))
        when = f"in {self._pause:g} s" if self._pause else "now"
        self._watcher.note(f"the runner {how(code) if code else 'has left'}: another one starts {when}")
        await first(asyncio.shield(changed), stop.wait(), asyncio.sleep(self._pause))
        return True


async def first(*waits: "Coroutine[Any, Any, object] | asyncio.Future[Any]") -> None:
    """Return when one of them is over; the others are given up."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _listen(reader: int, heard: Callable[[str], None]) -> None:
    """Lines as they come, however many; one that never ends is cut."""
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        try:
            rest = b""
            while data := await stream.read(2**16):
                *lines, rest = (rest + data).split(b"\n")
                if len(rest) > LONGEST_LINE:
                    lines, rest = [*lines, rest], b""
                for line in lines:
                    heard(line[:LONGEST_LINE].decode(errors="replace").rstrip())
            if rest:
                heard(rest.decode(errors="replace").rstrip())
        finally:
            transport.close()


def _reason(lines: Sequence[str]) -> str:
    """What `paceline run` said in one line, or the end of whatever was written."""
    for line in reversed(lines):
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return "\n".join(line for line in lines if line) or "it said nothing"


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
