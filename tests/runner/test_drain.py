"""Every way to tell a runner to leave: it claims no more, finishes what runs, hands back what it cannot, exits 0."""

import asyncio
import signal
from pathlib import Path

import pytest

from paceline.job import NewJob
from paceline.queue import Queue
from runner.process import RunnerProcess, StartRunner, attempts, eventually, seen, there, until

HOW = ("SIGTERM", "SIGINT", "POST /drain", "POST /cluster/nodes/r1/drain", "taint", "paceline drain")


async def _tell(runner: RunnerProcess, queue: Queue, how: str) -> None:
    if how.startswith("SIG"):
        runner.send(signal.Signals[how])
    elif how.startswith("POST"):
        status, _ = await runner.get(how.split()[1], "POST")
        assert status == 200
    elif how == "taint":
        sql = "SELECT paceline.taint_runner(id, 'annotation', '{maint}', '{\"\"}', '{Drain}') FROM paceline.runner"
        await queue.database.value(sql)
    else:
        assert await _drain(runner) == 0


async def _drain(runner: RunnerProcess, *words: str) -> int:
    import sys

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_cli", "drain", "--listen", f"127.0.0.1:{runner.port}", *words
    )
    return await process.wait()


@pytest.mark.parametrize("how", HOW)
async def test_it_finishes_what_runs_claims_nothing_and_leaves(
    queue: Queue, start: StartRunner, scratch: Path, how: str
) -> None:
    running = await queue.enqueue("wait", "go")
    runner = await start("r1")
    await there(scratch / "begun")
    await runner.said("listening on")
    assert await runner.get("/health/ready") == (200, "ok\n")
    await _tell(runner, queue, how)
    await runner.said("draining")
    later = await queue.enqueue("wait", "go")
    status, text = await runner.get("/health/ready")
    assert (status, "ok" in text) == (503, False)
    assert await runner.get("/health/live") == (200, "ok\n")
    (scratch / "go").touch()
    assert await runner.ended() == 0
    done = await seen(queue, running.id)
    assert (done.state, done.result) == ("done", "seen")
    assert (await seen(queue, later.id)).state == "ready"


@pytest.mark.parametrize("kind", ["wait", "sync-wait", "stubborn", "deaf"])
async def test_at_the_timeout_unfinished_jobs_go_back_and_no_try_is_charged(
    queue: Queue, start: StartRunner, scratch: Path, kind: str
) -> None:
    made = await queue.enqueue(NewJob(kind=kind, payload="never", timeout=None))
    await queue.database.value("UPDATE paceline.job SET timeout_ms = 3600000")
    runner = await start("r1", PACELINE_DRAIN_TIMEOUT_SECS="0.5", PACELINE_GRACE_SECS="0.5")
    await there(scratch / "begun")
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)
    assert [each.outcome for each in await attempts(queue, made.id)] == ["handed_back"]


async def test_a_signal_after_a_drain_by_the_port_interrupts_nothing(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    """Who drains a machine's runner by its port lets systemd restart it next, which begins with a signal."""
    made = await queue.enqueue("wait", "go")
    runner = await start("r1")
    await there(scratch / "begun")
    assert await runner.get("/cluster/nodes/r1/drain", "POST") == (200, "")
    await runner.said("draining")
    runner.send(signal.SIGTERM)
    await runner.said("it drains already")
    (scratch / "go").touch()
    assert await runner.ended() == 0
    done = await seen(queue, made.id)
    assert (done.state, done.result) == ("done", "seen")
    assert await attempts(queue, made.id) == []


async def test_a_second_signal_hands_back_at_once(queue: Queue, start: StartRunner, scratch: Path) -> None:
    made = await queue.enqueue("wait", "never")
    runner = await start("r1")
    await there(scratch / "begun")
    runner.send(signal.SIGTERM)
    await runner.said("draining")
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)


async def test_the_hook_returns_when_nothing_runs_any_more(queue: Queue, start: StartRunner, scratch: Path) -> None:
    made = await queue.enqueue("wait", "go")
    runner = await start("r1")
    await there(scratch / "begun")
    await runner.said("listening on")
    asked = asyncio.create_task(runner.get("/drain?wait=true", "POST"))
    await runner.said("draining")
    for _ in range(5):  # an answer that did not wait would have come before these
        assert (await runner.get("/health/ready"))[0] == 503
    assert not asked.done()
    hook = asyncio.create_task(_drain(runner, "--wait"))
    (scratch / "go").touch()
    assert await hook == 0
    assert (await asked)[0] == 200
    assert (await until(queue, made.id, "done")).result == "seen"
    assert await runner.ended() == 0
    assert await _drain(runner, "--wait") == 0, "a runner that has left is no error"


async def test_another_nodes_drain_is_not_ours(start: StartRunner) -> None:
    runner = await start("r1")
    await runner.said("listening on")
    status, text = await runner.get("/cluster/nodes/r2/drain", "POST")
    assert status == 404
    assert 'this is runner "r1"' in text
    assert (await runner.get("/health/ready"))[0] == 200


async def test_a_registration_that_is_drained_by_the_database_takes_its_time(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    """Rolls and scale-down wait without limit: only a taint, a signal and a user's order have a timeout."""
    made = await queue.enqueue("wait", "go")
    runner = await start("r1", PACELINE_DRAIN_TIMEOUT_SECS="0.5")
    await there(scratch / "begun")
    await queue.database.value("SELECT paceline.drain((SELECT max(id) FROM paceline.incarnation))")

    async def is_unready() -> bool:
        return (await runner.get("/health/ready"))[0] == 503

    await runner.said("listening on")
    await eventually(is_unready, "it drains")
    await asyncio.sleep(1.5)  # three times the timeout that must not count
    assert (await seen(queue, made.id)).state == "running"
    (scratch / "go").touch()
    assert await runner.ended() == 0
    assert (await seen(queue, made.id)).state == "done"


async def test_a_drained_runner_is_seen_as_such_by_all(queue: Queue, start: StartRunner, scratch: Path) -> None:
    await queue.enqueue("wait", "go")
    runner = await start("r1")
    await there(scratch / "begun")
    await runner.said("listening on")
    runner.send(signal.SIGTERM)
    sql = "SELECT state = 'd' FROM paceline.incarnation"
    await eventually(lambda: queue.database.value(sql), "the database knows")
    _, text = await runner.get("/cluster/nodes")
    assert '"state": "draining"' in text
    assert '"instances_claimed": 1' in text
    (scratch / "go").touch()
    assert await runner.ended() == 0
