"""Daemons that outlive the command that started them, and are known again by pid and start time, never by name.

A daemon writes its own record before it becomes the program, so there is none without one.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_STARTED: list[subprocess.Popen[bytes]] = []
"""Kept, or Python would complain that nobody waits for them."""
BOOT = Path("/proc/sys/kernel/random/boot_id")
POLL_SECONDS = 0.05

# Its own line of /proc holds pid and start time; both stay when the shell becomes the program.
_RECORD_AND_BECOME = """
read -r stat < /proc/$$/stat
read -r boot < /proc/sys/kernel/random/boot_id
printf '%s\\n%s\\n' "$boot" "$stat" > "$1.tmp" && mv "$1.tmp" "$1" || exit 1
shift
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Record:
    """Which process a daemon is; a start time in clock ticks since boot makes a pid unique."""

    pid: int
    started: int
    boot: str

    def alive(self) -> bool:
        """Whether that very process still runs."""
        with contextlib.suppress(OSError, ValueError):
            state, started = parse_stat(Path(f"/proc/{self.pid}/stat").read_text())[1:]
            return started == self.started and state != "Z" and self.boot == BOOT.read_text().strip()
        return False

    def stop(self, grace: float) -> None:
        """Ask it to end, and make it end after `grace` seconds; nothing happens to a stranger with its pid."""
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            if not self.alive():
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            deadline = time.monotonic() + patience
            while self.alive() and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)


def parse_stat(line: str) -> tuple[int, str, int]:
    """Pid, state and start time in a line of /proc/PID/stat; the program's name may hold blanks and brackets."""
    pid, _, rest = line.partition(" (")
    fields = rest.rpartition(") ")[2].split()
    return int(pid), fields[0], int(fields[19])


def read_record(file: Path) -> Record | None:
    """What a daemon wrote; None if nothing whole is there."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        boot, stat = file.read_text().splitlines()
        pid, _, started = parse_stat(stat)
        return Record(pid, started, boot)
    return None


def recording(command: Sequence[str | Path], record: Path) -> list[str]:
    """The command that writes a record of itself and then becomes `command`."""
    return ["/bin/sh", "-c", _RECORD_AND_BECOME, "sh", str(record), *map(str, command)]


def stop_recorded(record: Path, grace: float) -> None:
    """End the process of a record, if there is one."""
    if found := read_record(record):
        found.stop(grace)
    record.unlink(missing_ok=True)


def start(command: Sequence[str | Path], record: Path, log: Path, environment: Mapping[str, str]) -> Record:
    """Start a daemon in a session of its own; its record is there when this returns."""
    record.unlink(missing_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            recording(command, record),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _STARTED.append(process)
    while process.poll() is None:
        if found := read_record(record):
            return found
        time.sleep(POLL_SECONDS)
    return read_record(record) or Record(process.pid, 0, "")
