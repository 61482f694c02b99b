"""How a command is stopped, and what it cannot do to the runner."""

import asyncio
import os
import signal
import socket
import sys
import time
from datetime import timedelta

import pytest

from paceline_runner.attempt import Broken, Cause, Done
from paceline_runner.children import child, supervisor
from paceline_runner.children.command import CommandExecutor
from paceline_runner.children.program import Program
from paceline_runner.children.supervisor import Children
from runner.children.parts import (
    BOTH_LOOPS,
    ONE_LOOP,
    PATIENCE,
    WAIT,
    Work,
    command,
    is_dead,
    open_descriptors,
    peak_memory,
    shell,
)

pytestmark = ONE_LOOP
STUBBORN = "trap '' TERM; sleep 60 & echo up >&2; while :; do wait; done"
GB = 1_000_000_000
LONG = timedelta(minutes=10)
"""A grace that nobody waits for who ends when he is asked."""


@pytest.fixture
def executor(children: Children) -> CommandExecutor:
    return CommandExecutor(children)


async def cancelled(executor: CommandExecutor, work: Work, said: str) -> float:
    """Cancel a command once it has written something; seconds until it was gone."""
    task = asyncio.create_task(executor.run(work))
    await work.wrote(said)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - began


@BOTH_LOOPS
async def test_cancelling_asks_first(executor: CommandExecutor) -> None:
    work = shell("trap 'echo bye >&2; exit 0' TERM; echo up >&2; while :; do sleep 0.05; done", grace=LONG)
    assert await cancelled(executor, work, "up") < PATIENCE
    assert "bye" in work.text


async def test_a_command_has_its_grace_even_if_the_runner_has_not_seen_it_begin(
    executor: CommandExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = supervisor._tell

    async def told_and_no_more(line: socket.socket, told: bytes, program: Program) -> None:
        await tell(line, told, program)
        await asyncio.Event().wait()

    monkeypatch.setattr(supervisor, "_tell", told_and_no_more)
    work = shell("trap 'echo bye >&2; exit 0' TERM; echo up >&2; while :; do sleep 0.05; done", grace=LONG)
    await cancelled(executor, work, "up")
    assert "bye" in work.text


@BOTH_LOOPS
async def test_a_command_that_ignores_sigterm_is_killed_after_its_grace(executor: CommandExecutor) -> None:
    work = shell(STUBBORN, grace=timedelta(seconds=0.3))
    took = await cancelled(executor, work, "up")
    assert 0.3 <= took < PATIENCE


async def test_the_grace_is_for_the_whole_group(executor: CommandExecutor) -> None:
    """A shell dies of SIGTERM at once; the program that it has started must not lose its time to clean up."""
    work = shell(f"{sys.executable} -c '{SLOW_GOODBYE}'; true", grace=LONG)
    await cancelled(executor, work, "up")
    assert "cleaned up" in work.text


SLOW_GOODBYE = """
import signal, sys, time
def bye(*_):
    time.sleep(0.2)
    sys.exit("cleaned up")
signal.signal(signal.SIGTERM, bye)
print("up", file=sys.stderr, flush=True)
time.sleep(60)
"""


@BOTH_LOOPS
async def test_an_impatient_caller_ends_the_grace(executor: CommandExecutor) -> None:
    work = shell(STUBBORN, grace=timedelta(seconds=60))
    task = asyncio.create_task(executor.run(work))
    await work.wrote("up")
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(asyncio.CancelledError):
            await task


@BOTH_LOOPS
async def test_a_cancelled_command_is_gone_when_the_cancellation_passes(executor: CommandExecutor) -> None:
    work = shell("sleep 60 & echo $$ $! >&2; wait", grace=timedelta(0))
    await cancelled(executor, work, "\n")
    assert all(is_dead(int(pid)) for pid in work.text.split())


@BOTH_LOOPS
async def test_an_attempt_ends_with_the_command_and_not_with_its_grandchild(executor: CommandExecutor) -> None:
    began = time.monotonic()
    work = shell("sleep 60 & echo $! >&2; echo 1")
    assert await executor.run(work) == Done("1")
    assert time.monotonic() - began < PATIENCE
    assert is_dead(int(work.text))


async def test_what_a_grandchild_writes_at_once_after_the_end_is_kept(
    executor: CommandExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "REST", PATIENCE)
    work = shell("(sleep 0.1; echo late >&2; echo 1) &")
    assert await executor.run(work) == Done("1")
    assert work.text == "late\n"


@BOTH_LOOPS
async def test_a_guard_that_dies_costs_a_try_and_is_told(executor: CommandExecutor, children: Children) -> None:
    work = shell("echo up >&2; sleep 60")
    task = asyncio.create_task(executor.run(work))
    await work.wrote("up")
    assert children.guard_pid is not None
    os.kill(children.guard_pid, signal.SIGKILL)
    ended = await task
    assert isinstance(ended, Broken)
    assert "guard" in ended.error
    assert ended.cause == Cause.CRASHED
    assert ended.retry_in == WAIT


@BOTH_LOOPS
async def test_two_hundred_commands_at_once(executor: CommandExecutor) -> None:
    assert await executor.run(command("true")) == Done(None)
    before, began = open_descriptors(), time.monotonic()
    works = [command("cat", payload=number) for number in range(200)]
    ended = await asyncio.gather(*map(executor.run, works))
    assert ended == [Done(str(number)) for number in range(200)]
    assert time.monotonic() - began < PATIENCE
    assert open_descriptors() <= before


@BOTH_LOOPS
async def test_a_gigabyte_of_output_costs_no_memory(executor: CommandExecutor) -> None:
    half = GB // 2
    with peak_memory() as peak:
        ended = await executor.run(shell(f"head -c {half} /dev/zero; head -c {half} /dev/zero >&2"))
    assert isinstance(ended, Broken)
    assert ended.cause == Cause.BAD_RESULT
    assert peak() < 32 * 2**20
