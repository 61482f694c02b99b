"""Small things that every throw-away server needs: a quick folder, free ports, and its last words."""

import contextlib
import random
import shutil
import socket
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 -- memory is what is wanted here
MEMORY_NEEDED = 2**30
PORTS = range(12_000, 30_000)  # below those that outgoing connections are given


def memory_folder() -> Path | None:
    """A place in memory, if there is room: a fresh database takes 12 ms there, 90 ms on a busy disk."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_NEEDED else None


def free_ports(count: int) -> list[int]:
    """Different loopback ports that nobody listens on; somebody may be quicker, so look who listens later."""
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        for port in random.sample(PORTS, len(PORTS)):
            if len(found) == count:
                break
            probe = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
    return found


def last_words(log: str) -> str:
    """The last line that a program wrote."""
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "it said nothing")
