"""Handlers in processes of their own: what they can do, and what they cannot do to others."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from pydantic import JsonValue

from paceline_runner.attempt import Broken, Cause, Done
from paceline_runner.children import remote
from paceline_runner.children.process import ProcessExecutor
from paceline_runner.children.supervisor import Children
from runner.children.app import jobs
from runner.children.parts import PATIENCE, WAIT, Work, family_of, is_dead

pytestmark = pytest.mark.asyncio(loop_scope="module", loop_factories=["asyncio"])
APP = "runner.children.app:jobs"
GRACE = timedelta(minutes=5)
"""That nobody waits for who heeds what he is told."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def staff() -> AsyncIterator[Children]:
    """One set of children for all tests of this file: a worker takes a third of a second to start."""
    children = Children(time.monotonic() + 3600)
    yield children
    await children.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor(staff: Children) -> AsyncIterator[ProcessExecutor]:
    executor = ProcessExecutor(staff, APP, slots=2, grace=GRACE)
    yield executor
    await executor.close()


def work(kind: str, payload: JsonValue = None, *, tries: int = 0) -> Work:
    return Work(jobs.get(kind), payload, tries=tries)


async def pid_of(executor: ProcessExecutor) -> int:
    """Which worker is next."""
    ended = await executor.run(work("echo"))
    assert isinstance(ended, Done)
    return int(json.loads(ended.result or "")["pid"])


async def test_a_handler_gets_its_payload_and_context_and_its_result_comes_back(executor: ProcessExecutor) -> None:
    ended = await executor.run(work("echo", {"a": [1, "é"]}, tries=2))
    assert isinstance(ended, Done)
    assert '"payload":{"a":[1,"é"]}' in (ended.result or "")
    assert '"job":7,"fence":41,"tries":2' in (ended.result or "")
    assert await executor.run(work("echo.async", "x" * 1_000_000)) == Done(f'"{"x" * 1_000_000}"')


async def test_a_worker_is_used_again_and_another_one_stands_ready(executor: ProcessExecutor, staff: Children) -> None:
    assert await pid_of(executor) == await pid_of(executor)
    if executor._coming:
        await asyncio.wait(executor._coming)
    assert staff.guard_pid is not None
    assert len(psutil.Process(staff.guard_pid).children()) == 2


async def test_what_a_handler_writes_is_kept_with_the_attempt(executor: ProcessExecutor) -> None:
    job = work("speak", "é")
    assert await executor.run(job) == Done(None)
    assert {"to stdout é", "to stderr é", "to the descriptor"} <= set(job.text.splitlines())
    assert "INFO to the log é" in job.text


async def test_progress_and_more_time_reach_the_runner(executor: ProcessExecutor) -> None:
    job = work("steps", 3)
    assert await executor.run(job) == Done("3")
    assert job.said == [{"step": 0}, {"step": 1}, {"step": 2}]
    assert job.extended == [timedelta(minutes=2)]


async def test_the_retry_policy_decides_in_the_worker(executor: ProcessExecutor) -> None:
    pid = await pid_of(executor)
    ended = await executor.run(work("fail", "again", tries=2))
    assert isinstance(ended, Broken)
    assert ended.error.startswith("ValueError: again\n")
    assert "app.py" in ended.error
    assert ended.retry_in == timedelta(seconds=pid + 3)
    assert ended.cause == Cause.FAILED
    ended = await executor.run(work("fail", "for ever"))
    assert isinstance(ended, Broken)
    assert ended.retry_in is None
    assert "this is pointless" in ended.error


async def test_sys_exit_ends_the_attempt_and_not_the_worker(executor: ProcessExecutor) -> None:
    pid = await pid_of(executor)
    ended = await executor.run(work("leave", 4))
    assert isinstance(ended, Broken)
    assert "SystemExit" in ended.error
    assert ended.cause == Cause.FAILED
    assert await pid_of(executor) == pid


async def test_payload_and_result_are_checked_in_the_worker(executor: ProcessExecutor) -> None:
    ended = await executor.run(work("steps", "three"))
    assert isinstance(ended, Broken)
    assert (ended.cause, ended.retry_in) == (Cause.BAD_PAYLOAD, None)
    ended = await executor.run(work("unwritable"))
    assert isinstance(ended, Broken)
    assert (ended.cause, ended.retry_in) == (Cause.BAD_RESULT, None)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("SIGSEGV", "was killed by SIGSEGV"),
        ("SIGKILL", "was killed by SIGKILL (often: out of memory)"),
        ("exit", "ended with exit code 3"),
        ("orphan", "ended with exit code 4"),
        ("hang up", "closed its socket to the runner"),
    ],
)
async def test_a_worker_that_crashes_loses_only_its_own_job(
    executor: ProcessExecutor, how: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOMENT", 1.0 if how in ("hang up", "orphan") else PATIENCE)
    other = work("heed", "return")
    running = asyncio.create_task(executor.run(other))
    await other.heard.wait()

    job = work("crash", how)
    ended = await executor.run(job)

    assert isinstance(ended, Broken)
    assert told in ended.error
    assert ended.error.startswith("ProcessCrashedError: ")
    assert ended.cause == Cause.CRASHED
    assert ended.retry_in == WAIT
    assert "last words" in job.text
    running.cancel()
    assert await running == Done('"finished"')
    assert isinstance(await executor.run(work("echo")), Done)


async def test_a_traceback_of_a_crash_is_kept(executor: ProcessExecutor) -> None:
    job = work("crash", "SIGSEGV")
    await executor.run(job)
    assert "Fatal Python error: Segmentation fault" in job.text
    assert "in crash" in job.text


async def test_a_worker_that_dies_at_rest_costs_no_try(executor: ProcessExecutor) -> None:
    pid = await pid_of(executor)
    os.kill(pid, signal.SIGKILL)
    assert is_dead(pid)  # and the runner has not heard of it yet
    assert await pid_of(executor) != pid


async def test_a_cancelled_handler_is_told_and_what_it_has_done_counts(executor: ProcessExecutor) -> None:
    job = work("heed", "return")
    task = asyncio.create_task(executor.run(job))
    await job.heard.wait()
    task.cancel()
    assert await task == Done('"finished"')


async def test_a_cancelled_handler_that_does_not_finish_leaves_its_worker_alive(executor: ProcessExecutor) -> None:
    pid = await pid_of(executor)
    for job in (work("heed", "raise"), work("heed.async", "")):
        task = asyncio.create_task(executor.run(job))
        await job.heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await pid_of(executor) == pid
    assert "cleaned up" in job.text


async def test_a_handler_that_ignores_it_is_killed_after_the_grace(staff: Children) -> None:
    executor = ProcessExecutor(staff, APP, slots=1, grace=timedelta(seconds=0.3))
    job = work("ignore")
    task = asyncio.create_task(executor.run(job))
    await job.heard.wait()
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert 0.3 <= time.monotonic() - began < PATIENCE
    assert isinstance(job.said[0], int)
    assert is_dead(job.said[0])
    await executor.close()


async def test_there_are_never_more_workers_than_slots(executor: ProcessExecutor, staff: Children) -> None:
    ended = await asyncio.gather(*(executor.run(work("echo", number)) for number in range(20)))
    assert all(isinstance(each, Done) for each in ended)
    assert staff.guard_pid is not None
    assert len(family_of(staff.guard_pid)) <= 2


async def test_a_worker_leaves_after_its_jobs(staff: Children) -> None:
    executor = ProcessExecutor(staff, APP, slots=1, jobs_each=2)
    pids = [await pid_of(executor) for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    assert is_dead(pids[0])
    await executor.close()
    assert is_dead(pids[2])


async def test_at_the_end_all_workers_leave_and_close_what_they_have_open(staff: Children, tmp_path: Path) -> None:
    executor = ProcessExecutor(staff, APP, slots=2)
    assert await executor.run(work("keep", str(tmp_path / "diary"))) == Done(None)
    await asyncio.wait(executor._coming)  # one stands ready ahead
    assert staff.guard_pid is not None
    workers = [each.pid for each in psutil.Process(staff.guard_pid).children()]
    await executor.close()
    left = {each.pid for each in psutil.Process(staff.guard_pid).children() if each.status() != psutil.STATUS_ZOMBIE}
    assert len(set(workers) - left) >= 2
    assert (tmp_path / "diary").read_text() == "closed"


async def test_an_application_that_cannot_be_imported_is_told(staff: Children) -> None:
    for app, told in (("no_such_module:jobs", 'no module "no_such_module"'), ("json:dumps", "no Jobs")):
        executor = ProcessExecutor(staff, app, slots=1)
        ended = await executor.run(work("echo"))
        assert isinstance(ended, Broken)
        assert told in ended.error
        assert app in ended.error
        assert ended.cause == Cause.CRASHED
        assert ended.retry_in == WAIT
        await executor.close()


async def test_an_odd_handler_harms_at_most_itself(staff: Children) -> None:
    executor = ProcessExecutor(staff, APP, slots=1, jobs_each=1)
    for payload in ("extend", "close"):
        assert await executor.run(work("odd", payload)) == Done(f'"{payload}"')
    ended = await executor.run(work("odd", "scribble"))
    assert isinstance(ended, Broken)
    assert ended.cause == Cause.CRASHED
    await executor.close()


async def test_a_worker_has_four_descriptors_and_does_not_hand_the_fourth_on(executor: ProcessExecutor) -> None:
    ended = await executor.run(work("descriptors"))
    assert ended == Done('["0","1","2"]')


@pytest.mark.asyncio(loop_scope="function", loop_factories=["uvloop"])
async def test_all_of_it_works_on_uvloop_too(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOMENT", PATIENCE)
    executor = ProcessExecutor(children, APP, slots=2, grace=GRACE)
    job = work("speak", "é")
    assert await executor.run(job) == Done(None)
    assert "to stdout é" in job.text
    ended = await executor.run(work("crash", "exit"))
    assert isinstance(ended, Broken)
    assert "exit code 3" in ended.error
    job = work("heed", "return")
    task = asyncio.create_task(executor.run(job))
    await job.heard.wait()
    task.cancel()
    assert await task == Done('"finished"')
    await executor.close()
