"""The network namespace of the local engine: a loopback, later the engine's bridges, and no way out.

Processes enter it with `nsenter --net`. `ip netns exec` would remount /sys as well and hide the cgroups.
"""

import contextlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline_dev.errors import DevError
from paceline_dev.kind.places import Places


@dataclass(frozen=True, slots=True)
class Namespace:
    """A network namespace that has a name."""

    name: str
    file: Path

    @classmethod
    def of(cls, places: Places) -> "Namespace":
        """That of a cache; it need not exist."""
        return cls(places.namespace, places.namespace_file)

    def exists(self) -> bool:
        """Whether it can be entered: after a crash a plain file may be left where it was mounted."""
        return is_namespace(self.file)

    def create(self) -> None:
        """Make it if need be, with a loopback that is up and nothing else."""
        if not self.exists():
            self.file.unlink(missing_ok=True)
            _ip("netns", "add", self.name)
        self.ip("link", "set", "lo", "up")

    def delete(self) -> None:
        """Remove it; what still runs in it keeps it alive without a name."""
        if self.exists():
            _ip("netns", "delete", self.name)
        self.file.unlink(missing_ok=True)

    def inside(self, command: Sequence[str | Path]) -> list[str]:
        """The command that runs `command` in the namespace."""
        return ["nsenter", f"--net={self.file}", "--", *map(str, command)]

    def ip(self, *arguments: str) -> str:
        """What `ip` says in there."""
        return run_ip(self.file, *arguments)

    def ip_json(self, *arguments: str) -> list[dict[str, Any]]:
        """What `ip -json` says in there, parsed."""
        return parsed(self.ip("-json", *arguments))

    def number(self) -> int:
        """The inode that tells one namespace from another."""
        return self.file.stat().st_ino

    def processes(self) -> list[int]:
        """Who is in it."""
        number, found = self.number(), []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "ns" / "net").stat().st_ino == number:
                    found.append(int(process.name))
        return found


def is_namespace(file: Path) -> bool:
    """Whether a namespace is mounted there: those who make one leave an empty file behind when they are killed."""
    with contextlib.suppress(OSError):
        return file.stat().st_dev == Path("/proc/self/ns/net").stat().st_dev
    return False


def run_ip(namespace: Path, *arguments: str) -> str:
    """What `ip` says in the namespace that a file stands for."""
    return _answer(["nsenter", f"--net={namespace}", "--", "ip", *arguments])


def parsed(text: str) -> list[dict[str, Any]]:
    """`ip -json` writes nothing at all where there is nothing, and empty objects for what a filter left out."""
    rows: list[dict[str, Any]] = json.loads(text or "[]")
    return [row for row in rows if row]


def _ip(*arguments: str) -> None:
    _answer(["ip", *arguments])


def _answer(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout
