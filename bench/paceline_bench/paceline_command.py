"""How a real runner is started: the one place that knows the command line of `paceline run`."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline_bench.errors import NotMeasuredError
from paceline_bench.process import Command
from paceline_bench.systems.paceline import POOL

PROGRAM: Final = (str(Path(sys.executable).with_name("paceline")),)
APP: Final = "paceline_bench.noop:jobs"
SECONDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerCommand:
    """A runner of the bench's pool."""

    program: Sequence[str] = PROGRAM
    port: int
    """On loopback, for probes and drain."""
    slots: int = 1
    batch: int = 1
    dispatchers: int = 1

    def on(self, url: str, listen_url: str | None = None) -> Command:
        """The command for a database, and for another way to it for heartbeats and wake-ups."""
        place = {
            "PACELINE_DATABASE_URL": url,
            "PACELINE_LISTEN_URL": listen_url or url,
            "PACELINE_POOL": POOL,
            "PACELINE_NODE_ID": f"bench-{self.port}",
            "PACELINE_BATCH_SIZE": str(self.batch),
        }
        return self._command(place, "--dispatchers", str(self.dispatchers))

    def dialling(self, gateway: str, token: str) -> Command:
        """The command without a database; the token says who it is, and how it is asked is the gateway's matter."""
        return self._command({"PACELINE_GATEWAY": gateway, "PACELINE_TOKEN": token})

    def _command(self, place: Mapping[str, str], *more: str) -> Command:
        own = {"PACELINE_SLOTS": str(self.slots), "PACELINE_LISTEN": f"127.0.0.1:{self.port}"}
        return Command((*self.program, "run", "--app", APP, *more), {**own, **place})


def require(program: Sequence[str] = PROGRAM) -> None:
    """Complain where there is no such command."""
    environment = {**os.environ, "COLUMNS": "200"}
    try:
        done = subprocess.run(
            [*program, "run", "--help"], capture_output=True, check=False, timeout=SECONDS, env=environment
        )
    except OSError:
        raise NotMeasuredError("the command paceline is not installed in this environment") from None
    if done.returncode != 0:
        raise NotMeasuredError('this version has no command "paceline run"')
