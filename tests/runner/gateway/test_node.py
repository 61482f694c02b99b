"""The example in JavaScript is a whole runner: it works, hears of cancels and drains, and lets go in time."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from paceline.job import NewJob
from paceline.queue import Queue
from paceline_dev import REPOSITORY
from runner.gateway.door import Door, TokenOf
from runner.process import PATIENCE, attempts, eventually, seen, until

EXAMPLE = REPOSITORY / "runner-image" / "examples" / "node-runner.mjs"
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, which the example needs")
DRAIN = (
    """SELECT paceline.taint_runner((SELECT runner FROM paceline.incarnation), 'cli', '{maint}', '{""}', '{Drain}')"""
)
Node = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def node(door: Door, token: TokenOf) -> AsyncIterator[Node]:
    async with AsyncExitStack() as stack:

        async def start(**variables: str) -> asyncio.subprocess.Process:
            environment = {**os.environ, "PACELINE_GATEWAY": f"{door.url}/", "PACELINE_TOKEN": await token("js")}
            process = await asyncio.create_subprocess_exec(
                "node", str(EXAMPLE), env={**environment, **variables}, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            stack.push_async_callback(_end, process)
            return process

        yield start


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def _left(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    return process.returncode, (out + err).decode()


async def test_it_does_jobs_and_leaves_when_it_is_told(queue: Queue, node: Node) -> None:
    echo, slow, late, unknown = await queue.enqueue_many(
        [NewJob(kind="echo", payload={"to": "ä"}), NewJob(kind="sleep", payload=2),
         NewJob(kind="sleep", payload=60, timeout=timedelta(seconds=0.5), max_tries=1), NewJob(kind="other")]
    )  # fmt: skip
    process = await node()
    done = await until(queue, echo.id, "done")
    assert (done.result, done.runner) == ({"to": "ä"}, "js")
    assert [each.output for each in await attempts(queue, echo.id)] == ["echoing\n"]
    dead = await until(queue, late.id, "dead")
    assert "timed out" in (dead.error or "")
    await until(queue, slow.id, "running", "done")
    process.send_signal(signal.SIGTERM)
    code, said = await _left(process)
    assert (code, said.splitlines()[-1]) == (0, "left"), said
    slept = await seen(queue, slow.id)
    assert (slept.state, slept.result, slept.progress or {"seconds": 2}) == ("done", "slept", {"seconds": 2})
    assert (await seen(queue, unknown.id)).state == "ready"
    assert await queue.database.value("SELECT cause FROM paceline.incarnation") == "Deregistered"


async def test_it_hears_of_a_cancel_and_the_second_signal_gives_back(queue: Queue, node: Node) -> None:
    cancelled, kept = await queue.enqueue_many([NewJob(kind="sleep", payload=600)] * 2)
    process = await node()
    for each in (cancelled, kept):
        await until(queue, each.id, "running")
    await queue.cancel(cancelled.id)
    await until(queue, cancelled.id, "cancelled")
    process.send_signal(signal.SIGTERM)
    await eventually(lambda: queue.database.value("SELECT state = 'd' FROM paceline.incarnation"), "it drains")
    process.send_signal(signal.SIGTERM)
    assert (await _left(process))[0] == 0
    back = await seen(queue, kept.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)


async def test_a_drain_taint_gives_back_what_is_unfinished_when_the_time_is_over(queue: Queue, node: Node) -> None:
    short, long = await queue.enqueue_many([NewJob(kind="sleep", payload=0.5), NewJob(kind="sleep", payload=600)])
    process = await node(PACELINE_DRAIN_TIMEOUT_SECS="5")
    await until(queue, short.id, "running", "done")
    await until(queue, long.id, "running")
    await queue.database.value(DRAIN)
    code, said = await _left(process)
    assert (code, said.splitlines()[-1]) == (0, "left"), said
    assert (await seen(queue, short.id)).state == "done", "it had the time"
    back = await seen(queue, long.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)
    assert [each.outcome for each in await attempts(queue, long.id)] == ["handed_back"]


@pytest.mark.usefixtures("short_lease")
async def test_it_ends_with_its_lease_and_when_it_is_not_let_in(queue: Queue, node: Node, door: Door) -> None:
    made = await queue.enqueue("sleep", 600)
    process = await node()
    await until(queue, made.id, "running")
    await door.shut()
    code, said = await _left(process)
    assert (code, "the lease has ended" in said) == (1, True), said
    await door.open()
    code, said = await _left(await node(PACELINE_TOKEN="rk_0123456789ab_" + "x" * 43))
    assert (code, "401 unauthorized" in said) == (1, True), said
