"""On a terminal: drawn anew on one screen until Ctrl-C, which is the normal end."""

import asyncio
import os
import pty
import signal

from paceline.claims import Incarnation
from paceline.job import NewJob
from paceline.queue import Queue
from postgres.cli.process import environment, run_cli
from support.forked import Forked


async def test_top_follows_what_happens_and_ends_with_ctrl_c(
    migrated: str, queue: Queue, crew: tuple[Incarnation, Incarnation]
) -> None:
    master, slave = pty.openpty()
    words = ["top", "--every", "0.1s"]
    process = Forked(words, environment(migrated, TERM="xterm"), stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    try:

        async def until(text: bytes) -> None:
            nonlocal seen
            while text not in seen:
                seen = (seen + await asyncio.to_thread(os.read, master, 65_536))[-1_000_000:]

        await until(b"0 of 4 slots busy")
        assert b"\x1b[" in seen, "it is drawn on a screen of its own"
        await queue.enqueue_many([NewJob(kind="mail")] * 2)
        await crew[0].step(2)
        await until(b"2 of 4 slots busy")
        process.send_signal(signal.SIGINT)
        await until(b"\x1b[?1049l")
        assert await asyncio.to_thread(process.wait, 30) == 0
    finally:
        process.kill()
        os.close(master)


async def test_nobody_asks_without_a_pause(migrated: str) -> None:
    ran = await run_cli(migrated, "top", "--every", "0.01s")
    assert (ran.code, "at least 0.1s" in ran.err) == (2, True)
