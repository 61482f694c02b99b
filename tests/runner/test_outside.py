"""Commands and child processes under a real runner: what they do counts, and none of them outlives its welcome."""

import signal
from pathlib import Path

import psutil
import pytest

from paceline.job import NewJob
from paceline.queue import Queue
from runner.process import MEDIUM_LEASE, SHORT_LEASE, StartRunner, attempts, eventually, seen, there, until

SLEEPERS = ("command-sleep", "apart-sleep")


async def test_a_command_is_run_and_its_result_and_output_are_kept(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue("command", {"a": 1})
    await start("r1")
    assert (await until(queue, made.id, "done")).result == {"got": {"a": 1}}
    assert (await attempts(queue, made.id))[0].output == "said this\n"


async def test_a_handler_in_a_process_of_its_own_may_crash_and_costs_only_its_job(
    queue: Queue, start: StartRunner
) -> None:
    crash, good = await queue.enqueue_many([NewJob(kind="segfault"), NewJob(kind="apart", payload=21)])
    runner = await start("r1")
    done = await until(queue, good.id, "done")
    assert isinstance(done.result, dict)
    assert done.result["twice"] == 42
    assert done.result["pid"] != runner.pid
    dead = await until(queue, crash.id, "dead")
    assert dead.cause == "Crashed"
    assert "SIGSEGV" in (dead.error or "")
    assert "in a process of its own" in ((await attempts(queue, good.id))[0].output or "")
    assert runner.process.returncode is None


async def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("kind", SLEEPERS)
async def test_children_end_with_a_runner_that_is_killed(
    queue: Queue, start: StartRunner, scratch: Path, kind: str
) -> None:
    await queue.enqueue(kind)
    runner = await start("r1")
    child = int(await there(scratch / "pid"))
    runner.send(signal.SIGKILL)
    await eventually(lambda: _gone(child), "the child is gone")


@pytest.mark.parametrize("kind", SLEEPERS)
async def test_children_of_a_stopped_runner_end_before_its_lease_does(
    queue: Queue, start: StartRunner, scratch: Path, kind: str
) -> None:
    """The runner itself can do nothing; its jobs must not go on under two runners."""
    made = await queue.enqueue(kind)
    runner = await start("r1", *SHORT_LEASE)
    child = int(await there(scratch / "pid"))
    runner.send(signal.SIGSTOP)
    await eventually(lambda: _gone(child), "the child is gone")
    assert (await seen(queue, made.id)).state == "running", "nobody else can have it yet"
    runner.send(signal.SIGCONT)
    assert await runner.ended() == 70


@pytest.mark.parametrize("kind", SLEEPERS)
async def test_a_cancel_ends_the_child(queue: Queue, start: StartRunner, scratch: Path, kind: str) -> None:
    made = await queue.enqueue(kind)
    await start("r1", PACELINE_GRACE_SECS="1")
    child = int(await there(scratch / "pid"))
    await queue.cancel(made.id)
    await until(queue, made.id, "cancelled")
    await eventually(lambda: _gone(child), "the child is gone")


async def test_a_drain_that_takes_too_long_ends_the_child_and_hands_its_job_back(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue("command-sleep")
    runner = await start("r1", PACELINE_DRAIN_TIMEOUT_SECS="0.2")
    child = int(await there(scratch / "pid"))
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    assert await _gone(child)
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)


async def test_children_live_as_long_as_their_runner_is_heard_of(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    """Longer than the lease of 12 s: each heartbeat renews their welcome."""
    made = await queue.enqueue("command-nap", 14)
    await start("r1", *MEDIUM_LEASE)
    done = await until(queue, made.id, "done")
    assert (done.tries, done.losses) == (0, 0)
