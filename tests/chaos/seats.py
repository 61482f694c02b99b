"""Programs that are started again whenever they end, as a Deployment or a systemd unit would."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paceline.testing.guard import Guarded

LOOK_SECONDS = 0.2
FINE = (0, 70)
"""A program leaves, or a runner lets go of what it has lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program came to its end; `killed` by us, or by a job that does so, by SIGKILL."""

    name: str
    code: int
    killed: bool
    words: str = ""


@dataclass
class Seat:
    """The place of one program."""

    name: str
    words: Sequence[str]
    env: Mapping[str, str]
    log: Path
    mortal: bool = False
    """A job may kill it: it is a runner."""
    ends: list[Ended] = field(default_factory=list)
    process: Guarded | None = None
    _killed: bool = False

    def start(self) -> None:
        self._killed = False
        self.process = Guarded(list(self.words), log=self.log, env=self.env, grace=2.0)

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def kill(self) -> None:
        self._killed = True
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def keep(self) -> None:
        """Until it is cancelled."""
        while True:
            if self.process is None or not self.process.alive():
                await self._replace()
            await asyncio.sleep(LOOK_SECONDS)

    async def _replace(self) -> None:
        if self.process:
            code = self.process._script.wait()
            code -= 256 if code > 128 else 0
            self.ends.append(self.end(code))
        await asyncio.to_thread(self.start)

    def end(self, code: int) -> Ended:
        """What to say of an end with that code."""
        killed = self._killed or (self.mortal and code == -signal.SIGKILL)
        said = "" if code in FINE or killed else self.log.read_text(errors="replace")[-500:]
        return Ended(name=self.name, code=code, killed=killed, words=said)

    def stop(self) -> None:
        if self.process:
            self.signal(signal.SIGCONT)
            self.process.stop()
