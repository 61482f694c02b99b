"""Marks that processes leave, and whether they still live."""

import asyncio
import os
import time
from pathlib import Path

import psutil


async def there(path: Path, seconds: float = 60) -> str:
    """Wait until a process has written a file."""
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text().strip()):  # noqa: ASYNC240 -- tiny
        assert time.monotonic() < end, f"{path.name} is never written"
        await asyncio.sleep(0.02)
    return path.read_text().strip()  # noqa: ASYNC240 -- tiny


def lives(pid: int) -> bool:
    """Whether a process is more than a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def ended(*pids: int, seconds: float = 60) -> None:
    """Wait until processes are no more."""
    end = time.monotonic() + seconds
    while left := [pid for pid in pids if lives(pid)]:
        assert time.monotonic() < end, f"these live on: {left}"
        await asyncio.sleep(0.02)


def environment(pid: int) -> dict[str, str]:
    """The variables that a process was started with."""
    text = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(os.fsdecode(each).split("=", 1) for each in text if b"=" in each)
