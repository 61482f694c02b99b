"""A runner's plain life: registers, claims, runs handlers of every sort, tells what became of it, leaves."""

import re
import signal
import time
from datetime import timedelta
from pathlib import Path

from paceline.cron import Cron, CronEntry
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from runner.process import RunnerProcess, StartRunner, attempts, eventually, seen, there, until


async def test_a_job_is_run_and_its_result_and_output_are_kept(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue("mail", {"to": "ann"})
    runner = await start("r1")
    done = await until(queue, made.id, "done")
    assert done.result == {"to": "ann", "fence": done.fence, "tries": 0}
    assert done.runner == "r1"
    (attempt,) = await attempts(queue, made.id)
    assert (attempt.outcome, attempt.output) == ("done", attempt.output)
    assert attempt.output is not None
    assert attempt.output.endswith("info sending to ann\n")
    line = await runner.said("sending to ann")
    assert (line["job"], line["fence"], line["attempt"], line["kind"]) == (made.id, done.fence, 1, "mail")


async def test_what_a_handler_prints_and_logs_is_kept_with_its_attempt(queue: Queue, start: StartRunner) -> None:
    for kind in ("loud", "loud-sync"):
        made = await queue.enqueue(kind, "hello")
        if kind == "loud":
            await start("r1")
        await until(queue, made.id, "done")
        (attempt,) = await attempts(queue, made.id)
        said = [line.split(" ", 1)[-1] for line in (attempt.output or "").splitlines()]
        assert said == ["hello", "hello", "warning hello"], kind


async def test_a_handler_that_forks_comes_back_once(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue_many([NewJob(kind="fork"), NewJob(kind="fork-sync")])
    runner = await start("r1")
    for each in made:
        assert (await until(queue, each.id, "done")).result == "parent"
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0


async def test_it_leaves_when_told_and_nobody_takes_it_for_lost(queue: Queue, start: StartRunner) -> None:
    runner = await start("r1")
    (node,) = await Reader(queue.database).list_runners("builds")
    assert (node.id, node.state, node.slots, node.external) == ("r1", "active", 4, True)
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    assert await Reader(queue.database).list_runners("builds") == []
    cause = await queue.database.value("SELECT cause FROM paceline.incarnation")
    assert cause == "Deregistered"


async def test_no_more_jobs_run_at_once_than_it_has_slots(queue: Queue, start: StartRunner, scratch: Path) -> None:
    await queue.enqueue_many([NewJob(kind="wait", payload="go")] * 5)
    await start("r1", PACELINE_SLOTS="2")
    await there(scratch / "begun")
    pools = [await Reader(queue.database).list_pools() for _ in range(20)]
    assert {pool.running for (pool,) in pools} <= {1, 2}
    (scratch / "go").touch()
    await eventually(lambda: queue.database.value("SELECT count(*) = 5 FROM paceline.history"), "all are done")
    assert len((scratch / "begun").read_text().splitlines()) == 5


async def test_a_failed_job_is_tried_again_and_then_dead_with_every_attempt_on_record(
    queue: Queue, start: StartRunner
) -> None:
    made = await queue.enqueue(NewJob(kind="broken", payload="no luck", max_tries=3))
    await start("r1")
    dead = await until(queue, made.id, "dead")
    assert (dead.cause, dead.tries) == ("Failed", 3)
    assert dead.error is not None
    assert dead.error.startswith("ValueError: no luck\n")
    assert "raise ValueError(text)" in dead.error
    records = await attempts(queue, made.id)
    assert [each.outcome for each in records] == ["failed"] * 3
    assert all("about to break" in (each.output or "") for each in records)


async def test_what_another_try_cannot_mend_is_dead_at_once_and_says_why(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue_many(
        [NewJob(kind="mail", payload={"too": "ann"}), NewJob(kind="not-json"), NewJob(kind="never"),
         NewJob(kind="self-cancel")]
    )  # fmt: skip
    runner = await start("r1")
    dead = [await until(queue, each.id, "dead") for each in made]
    assert [each.cause for each in dead] == ["BadPayload", "BadResult", "Failed", "Failed"]
    assert 'payload of "mail" does not fit: to: Field required' in (dead[0].error or "")
    assert 'result of "not-json" cannot be written as JSON' in (dead[1].error or "")
    assert "KeyError: 'pointless'" in (dead[2].error or "")
    assert "CancelledError" in (dead[3].error or "")
    assert runner.process.returncode is None


async def test_sys_exit_in_a_handler_is_a_failed_attempt_and_the_runner_goes_on(
    queue: Queue, start: StartRunner
) -> None:
    made = await queue.enqueue("exit")
    await start("r1")
    again = await until(queue, made.id, "scheduled")
    assert again.tries == 1
    assert ((await attempts(queue, made.id))[0].error or "").startswith("SystemExit: 3\n")
    other = await queue.enqueue("mail", {"to": "bob"})
    await until(queue, other.id, "done")


async def test_an_idle_runner_starts_a_job_at_once(queue: Queue, start: StartRunner) -> None:
    runner = await start("r1")
    await runner.said("listening on")
    waits = []
    for _ in range(5):
        began = time.monotonic()
        made = await queue.enqueue("count")
        await until(queue, made.id, "done")
        waits.append(time.monotonic() - began)
    assert sorted(waits)[2] < 3, "it looks every four or five seconds: a NOTIFY must have woken it"


async def test_a_job_of_cron_comes_without_anybody_else(queue: Queue, start: StartRunner, scratch: Path) -> None:
    """No operator, no gateway: runners keep house themselves."""
    later = await queue.enqueue(NewJob(kind="mail", payload={"to": "ann"}, delay=timedelta(seconds=1)))
    await start("r1")
    await until(queue, later.id, "done")
    entry = CronEntry(name="each", schedule="* * * * * *", job=NewJob(kind="wait", payload="go"))
    await Cron(queue.database, "builds").put(entry)
    await there(scratch / "begun")
    (scratch / "go").touch()


async def test_a_timeout_ends_the_attempt_and_an_extension_moves_it(queue: Queue, start: StartRunner) -> None:
    short, extended = await queue.enqueue_many(
        [NewJob(kind="limited", payload=False), NewJob(kind="limited", payload=True)]
    )
    await start("r1")
    assert (await until(queue, extended.id, "done")).result == "in time"
    assert (await until(queue, short.id, "scheduled")).tries == 1
    (attempt,) = await attempts(queue, short.id)
    assert (attempt.cause, attempt.outcome) == ("TimedOut", "failed")
    assert re.match(r"timed out after \d+\.\d s", attempt.error or "")


async def test_work_that_does_not_heed_its_timeout_is_settled_without_it_and_keeps_its_slot(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue_many([NewJob(kind="stubborn", payload="go"), NewJob(kind="deaf", payload="go")])
    runner = await start("r1", PACELINE_SLOTS="3", PACELINE_GRACE_SECS="0.5")
    for each in made:
        assert (await until(queue, each.id, "scheduled")).tries == 1
        assert (await attempts(queue, each.id))[0].cause == "TimedOut"
    await _shows(runner, 'paceline_runner_unruly{pool="builds"} 2.0', 'paceline_runner_slots_busy{pool="builds"} 2.0')
    (scratch / "go").touch()
    other = await queue.enqueue("mail", {"to": "ann"})
    await until(queue, other.id, "done")
    await _shows(runner, 'paceline_runner_slots_busy{pool="builds"} 0.0')


async def _shows(runner: RunnerProcess, *lines: str) -> str:
    """Wait until its port shows all these lines; all that it shows then."""
    shown = ""

    async def so_it_is() -> bool:
        nonlocal shown
        status, shown = await runner.get("/metrics")
        return status == 200 and all(line in shown for line in lines)

    await eventually(so_it_is, f"its metrics have {', '.join(lines)}")
    return shown


async def test_a_cancel_reaches_a_running_handler_long_before_the_next_heartbeat(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    for kind, mark in (("wait", "cancelled"), ("sync-wait", "stopped")):
        made = await queue.enqueue(kind, "never")
        if kind == "wait":
            await start("r1", PACELINE_HEARTBEAT_INTERVAL_SECS="60", PACELINE_STALE_THRESHOLD_SECS="180")
        await there(scratch / "begun")
        (scratch / "begun").unlink()
        assert await queue.cancel(made.id) == "cancelling"
        await there(scratch / mark)
        await until(queue, made.id, "cancelled")


async def test_progress_is_seen_while_it_runs(queue: Queue, start: StartRunner, scratch: Path) -> None:
    made = await queue.enqueue("progress", "go")
    await start("r1")

    async def is_seen() -> bool:
        return (await seen(queue, made.id)).progress == {"half": True}

    await eventually(is_seen, "its progress is seen")
    (scratch / "go").touch()
    await until(queue, made.id, "done")


async def test_it_leaves_after_as_many_jobs_as_it_was_told(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail", payload={"to": "ann"})] * 3)
    runner = await start("r1", PACELINE_MAX_JOBS="2")
    await runner.said("draining")
    assert await runner.ended() == 0
    states = [(await seen(queue, each.id)).state for each in made]
    assert sorted(states) == ["done", "done", "ready"]


async def test_metrics_tell_what_it_did_by_pool_and_kind(queue: Queue, start: StartRunner) -> None:
    good = await queue.enqueue("mail", {"to": "ann"})
    bad = await queue.enqueue("never")
    runner = await start("r1")
    await until(queue, good.id, "done")
    await until(queue, bad.id, "dead")
    await runner.said("listening on")
    text = await _shows(
        runner,
        'paceline_runner_jobs_claimed_total{kind="mail",pool="builds"} 1.0',
        'paceline_runner_jobs_done_total{kind="mail",pool="builds"} 1.0',
        'paceline_runner_jobs_failed_total{kind="never",pool="builds"} 1.0',
        'paceline_runner_job_wait_seconds_count{kind="mail",pool="builds"} 1.0',
        'paceline_runner_job_run_seconds_count{kind="mail",pool="builds"} 1.0',
        'paceline_runner_slots{pool="builds"} 4.0',
    )
    assert "r1" not in text
