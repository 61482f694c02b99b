"""Attempts without a runner, and a process that owns children as a runner does."""

import asyncio
import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import JsonValue

from paceline.handlers import Handler, Jobs
from paceline.job import Claimed, Fence, JobId
from paceline.retry import Fixed
from paceline_runner.attempt import Tail
from paceline_runner.children.child import Child
from paceline_runner.children.program import Program
from paceline_runner.children.supervisor import Children

ONE_LOOP = pytest.mark.asyncio(loop_factories=["asyncio"])
BOTH_LOOPS = pytest.mark.asyncio(loop_factories=["asyncio", "uvloop"])
WAIT = timedelta(seconds=7)
PATIENCE = 40.0
"""Less than the minute for which children sleep that nobody ends."""
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FAMILY = """
setsid sleep 61 </dev/null >/dev/null 2>&1 &
sleep 62 &
echo $$ $!; wait
"""
"""A child that tells its own number and that of a child in its group; another one leaves the group."""
OWNER = """
import asyncio, json, os, sys, time
from paceline_runner.children.program import Program
from paceline_runner.children.supervisor import Children

async def main():
    children = Children(time.monotonic() + float(sys.argv[1]))
    said = asyncio.get_running_loop().create_future()
    program = Program(argv=sys.argv[2:], env=dict(os.environ))
    child = await children.start(program, stdout=said.set_result, stderr=sys.stderr.buffer.write)
    words = (await said).decode().split()
    fork = os.fork() if "fork" in words else None
    if fork == 0:
        time.sleep(60)
        os._exit(0)
    print(json.dumps({"guard": children.guard_pid, "child": child.pid, "words": words, "fork": fork}), flush=True)
    await child.wait()
    print("ended", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


class Output(Tail):
    """A tail whose growth can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.more = asyncio.Event()

    def write(self, text: str) -> int:
        """Keep it, and tell."""
        self.more.set()
        return super().write(text)


class Work:
    """An attempt of the handler, and what became known of it."""

    def __init__(
        self, handler: Handler, payload: JsonValue = None, *, tries: int = 0, trace: str | None = None
    ) -> None:
        self.job = Claimed(
            JobId(7), Fence(41), handler.kind, json.dumps(payload), 5, tries, 0, None, trace, 0.0
        )  # fmt: skip
        self.handler = handler
        self._output = Output()
        self.output: Tail = self._output
        self.should_stop = False
        self.job_id, self.fence, self.tries = self.job.id, self.job.fence, self.job.tries
        self.log = logging.getLogger(__name__)
        self.said: list[JsonValue] = []
        self.extended: list[timedelta] = []
        self.heard = asyncio.Event()

    def progress(self, value: JsonValue) -> None:
        self.said.append(value)
        self.heard.set()

    def extend(self, by: timedelta) -> None:
        self.extended.append(by)

    @property
    def text(self) -> str:
        """All of its output."""
        return self.output.text() or ""

    async def wrote(self, said: str) -> None:
        """Wait until it has written something."""
        async with asyncio.timeout(PATIENCE):
            while said not in self.text:
                self._output.more.clear()
                await self._output.more.wait()


def command(*argv: str, payload: JsonValue = None, tries: int = 0, trace: str | None = None, **options: Any) -> Work:
    """An attempt that runs a program; retried after 7 seconds."""
    jobs = Jobs()
    jobs.command("thumbs.make", argv, **{"retry": Fixed(WAIT), **options})
    return Work(jobs.get("thumbs.make"), payload, tries=tries, trace=trace)


def shell(script: str, **options: Any) -> Work:
    """The same, for a line of sh."""
    return command("sh", "-c", script, **options)


class Said:
    """What a child writes; a line of it can be waited for."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._more = asyncio.Event()

    def add(self, data: bytes) -> None:
        self.data += data
        self._more.set()

    async def line(self) -> str:
        """Its first line."""
        while b"\n" not in self.data:
            self._more.clear()
            await self._more.wait()
        return self.data.decode().partition("\n")[0]


async def start(children: Children, *argv: str, said: Said | None = None) -> Child:
    """Start a program without an executor."""
    said = said or Said()
    return await children.start(Program(argv=argv, env=dict(os.environ)), stdout=said.add, stderr=said.add)


def open_descriptors() -> Counter[str]:
    """What this process has open, by kind; /dev/null is not counted, which uvloop keeps as a spare."""
    found: Counter[str] = Counter()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[str(each.readlink()).partition("[")[0]] += 1
    del found["/dev/null"]
    return found


@contextlib.contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """By how many bytes this process grew at most."""

    def read(name: str) -> int:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(lines[name].split()[0]) * 1024

    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = read("VmRSS")
    yield lambda: read("VmHWM") - before


def free_numbers() -> list[int]:
    """Numbers of descriptors that the next files would get."""
    return [number for number in range(200) if not Path(f"/proc/self/fd/{number}").exists()]


def is_dead(pid: int, timeout: float = PATIENCE) -> bool:
    """Wait for the end of a process that is not ours; one that only waits to be buried is dead."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], timeout)[0])
    finally:
        os.close(fd)


def is_buried(pid: int) -> bool:
    """Wait until its number is free: a zombie would keep it."""
    end = time.monotonic() + PATIENCE
    while psutil.pid_exists(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not psutil.pid_exists(pid)


def family_of(pid: int) -> list[psutil.Process]:
    """All descendants."""
    return psutil.Process(pid).children(recursive=True)


class Owner:
    """Another process that has started one child."""

    def __init__(self, seconds: float, argv: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(seconds), *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        said = json.loads(self.line())
        self.guard: int = said["guard"]
        self.child: int = said["child"]
        self.words: list[str] = said["words"]
        self.fork: int | None = said["fork"]

    def line(self) -> str:
        """The next line that it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; SIGSTOP has worked when this returns."""
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def end(self) -> None:
        """Leave nothing behind."""
        self.process.kill()
        if self.fork:
            os.kill(self.fork, signal.SIGKILL)
        self.process.communicate()
        is_dead(self.guard)
