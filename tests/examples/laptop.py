"""A laptop in the folder of an example: what its page tells to type is taken from there, and typed."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from paceline.database import Database
from paceline.queue import Queue
from paceline_dev import REPOSITORY
from paceline_dev.site.markdown import blocks
from postgres.cli.process import environment
from runner.process import RunnerProcess
from runner.test_dev import Dev
from unit.docs.shell import commands

EXAMPLES = REPOSITORY / "runner-image" / "examples"
PROGRAMS = Path(sys.executable).parent


def commands_of(folder: Path) -> list[list[str]]:
    """All that its page tells to type."""
    consoles = [block for block in blocks((folder / "README.md").read_text()) if block.language == "console"]
    return [words for block in consoles for words in commands(block)]


def told(folder: Path, *begin: str) -> list[str]:
    """The only command of the page that begins so."""
    found = [words for words in commands_of(folder) if words[: len(begin)] == [*begin]]
    assert len(found) == 1, f"{folder.name}: {len(found)} commands begin with {' '.join(begin)}"
    return found[0]


@dataclass
class Laptop:
    """Terminals of which nothing outlives the test."""

    folder: Path
    url: str
    database: Database
    scratch: Path
    terminals: AsyncExitStack
    variables: dict[str, str] = field(default_factory=dict)
    """Set in every terminal."""

    def queue(self, pool: str) -> Queue:
        """To look at."""
        return Queue(self.database, pool)

    async def types(self, *begin: str, **changed: str) -> str:
        """What the command of the page that begins so prints; words of it may be changed."""
        return await self.does(*(changed.get(word, word) for word in told(self.folder, *begin)))

    async def does(self, *words: str) -> str:
        """What a command prints that ends well."""
        process = await asyncio.create_subprocess_exec(
            *words, cwd=self.folder, env=self._environment(), stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, f"{' '.join(words)}: {err.decode()}"
        return out.decode()

    async def serves(self, *words: str) -> asyncio.subprocess.Process:
        """Start what goes on until it is told to leave, or the end of the test."""
        with (self.scratch / f"{words[0]}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *words, cwd=self.folder, env=self._environment(), stdout=log, stderr=log
            )
        self.terminals.push_async_callback(_ended, process)
        return process

    async def develops(self) -> Dev:
        """`paceline dev` as the page says, on the test's own database."""
        words = told(self.folder, "paceline", "dev")[2:]
        dev = await Dev.start(self.folder, *words, url=self.url, terminal=False, **self.variables)
        self.terminals.push_async_callback(dev.end)
        await dev.said("registered as dev")
        return dev

    async def runs(self, name: str, *words: str) -> RunnerProcess:
        """One more runner with the same handlers."""
        paths = os.pathsep.join((str(self.folder), os.environ.get("PYTHONPATH", "")))
        runner = await RunnerProcess.start(
            self.url, self.scratch, name, *words, PYTHONPATH=paths, PACELINE_STALE_THRESHOLD_SECS="90",
            **self.variables,
        )  # fmt: skip
        self.terminals.push_async_callback(runner.end)
        await runner.said("registered as")
        return runner

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join((str(PROGRAMS), os.environ["PATH"]))
        return environment(self.url, PATH=path, PYTHONDONTWRITEBYTECODE="1", **self.variables)


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
