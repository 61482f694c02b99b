"""A runner that is lost never goes on with a job that it has lost, and one that is not lost is not taken for it."""

import asyncio
import contextlib
import signal
from datetime import timedelta
from pathlib import Path

import psutil

from paceline.job import NewJob
from paceline.queue import Queue
from runner.process import LONG, MEDIUM_LEASE, SHORT_LEASE, StartRunner, attempts, eventually, seen, there, until
from support.proxy import proxy

FENCED = 70
UNHURRIED = ("--heartbeat-interval", "10")
"""So long the database may take to hear of a handler that is stuck."""


async def test_a_killed_runners_job_is_done_by_another_and_the_loss_is_counted(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue("wait", "go")
    first = await start("r1", *SHORT_LEASE)
    await there(scratch / "begun")
    first.send(signal.SIGKILL)
    await start("r2")
    (scratch / "go").touch()
    done = await until(queue, made.id, "done")
    assert (done.runner, done.losses, done.tries) == ("r2", 1, 0)
    (lost,) = await attempts(queue, made.id)
    assert (lost.outcome, lost.cause, lost.runner) == ("lost", "LeaseExpired", "r1")


async def test_a_runner_that_was_stopped_for_longer_than_its_lease_lets_go_when_it_wakes(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    """Six of them: whether the main thread or the keeper's is the first to run after SIGCONT is a matter of chance."""
    stopped = [await start(f"r{n}", *SHORT_LEASE, PACELINE_SLOTS="1") for n in range(6)]
    made = await queue.enqueue_many([NewJob(kind="wait", payload="go")] * 6)
    await eventually(lambda: _begun(scratch, 6), "all have begun")
    for each in stopped:
        each.send(signal.SIGSTOP)
    await start("other", PACELINE_SLOTS="6")
    sql = "SELECT NOT EXISTS (SELECT FROM paceline.job WHERE losses = 0)"
    await eventually(lambda: queue.database.value(sql), "all have been given to another runner")
    (scratch / "go").touch()  # an old attempt that went on would be over at once
    for each in stopped:
        each.send(signal.SIGCONT)
    for each in stopped:
        assert await each.ended() == FENCED
        assert "somebody else may have its jobs" in each.log, each.log
    done = [await until(queue, each.id, "done") for each in made]
    assert {each.runner for each in done} == {"other"}
    ended = sorted((scratch / "seen").read_text().splitlines())
    assert ended == sorted(f"{each.id} {each.fence}" for each in done), "an old attempt has come to its end"


async def test_no_thread_but_the_main_one_hears_that_it_goes_on(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    """Otherwise the kernel may choose one that does not run yet, and old work goes on until it does."""
    runner = await start("r1")
    await queue.enqueue("sync-wait", "go")
    await there(scratch / "begun")
    await runner.get("/health/live")
    blocked = _deaf_to(signal.SIGCONT, runner.pid)
    assert len(blocked) >= 4, "main, keeper, port, job"
    assert [name for name, is_blocked in blocked.items() if not is_blocked] == [str(runner.pid)]


def _deaf_to(number: signal.Signals, pid: int) -> dict[str, bool]:
    """The threads of a process, and whether each blocks a signal."""
    found = {}
    for each in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            for line in (each / "status").read_text().splitlines():
                if line.startswith("SigBlk"):
                    found[each.name] = bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return found


async def _begun(scratch: Path, count: int) -> bool:
    path = scratch / "begun"
    return path.exists() and len(path.read_text().splitlines()) == count


async def test_a_handler_that_never_yields_does_not_lose_its_runner(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    """15 s is longer than the lease of 12 s: the heartbeat has a thread of its own, and so has the port."""
    made = await queue.enqueue("block", 15.0)
    runner = await start("r1", *MEDIUM_LEASE)
    await there(scratch / "begun")
    await start("r2")
    await runner.said("listening on")
    assert await runner.get("/health/live") == (200, "ok\n")
    done = await until(queue, made.id, "done", seconds=90)
    assert (done.runner, done.losses) == ("r1", 0)


async def test_a_handler_that_never_yields_does_not_keep_a_lost_runner_alive(
    queue: Queue, start: StartRunner, scratch: Path, migrated: str
) -> None:
    await queue.enqueue("block", 60.0)
    async with proxy(migrated) as between:
        runner = await start("r1", *SHORT_LEASE, url=between.url)
        await there(scratch / "begun")
        between.swallow()
        assert await runner.ended() == FENCED


async def test_a_handler_that_never_yields_and_has_timed_out_costs_the_runner(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue(NewJob(kind="block", payload=60.0, timeout=timedelta(seconds=0.5), max_losses=0))
    runner = await start("r1", *UNHURRIED, PACELINE_GRACE_SECS="0.5")
    await there(scratch / "begun")
    assert await runner.ended() == FENCED
    assert f"does not yield, and job {made.id} has timed out" in runner.log
    dead = await until(queue, made.id, "dead")
    assert dead.cause == "Poison"
    assert "HandlerStuck" in (dead.error or "")


async def test_a_handler_that_never_yields_does_not_keep_a_runner_that_was_told_to_leave(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue("block", 60.0)
    runner = await start("r1", *UNHURRIED, PACELINE_GRACE_SECS="0.5", PACELINE_DRAIN_TIMEOUT_SECS="0.5")
    await there(scratch / "begun")
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)


async def test_the_newest_registration_of_a_name_wins_and_the_old_one_says_why_it_ends(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue("wait", "go")
    old = await start("r1")
    await there(scratch / "begun")
    new = await start("r1")
    assert await old.ended() == FENCED
    assert "another process has registered under its name" in old.log
    (scratch / "go").touch()
    assert (await until(queue, made.id, "done")).losses == 1
    assert new.process.returncode is None


async def test_an_idle_one_whose_name_was_taken_ends_too(start: StartRunner) -> None:
    old = await start("r1")
    await start("r1")
    assert await old.ended() == FENCED
    assert "another process has registered under its name" in old.log


async def test_an_idle_runner_outlives_a_database_that_is_away_longer_than_its_lease(
    queue: Queue, start: StartRunner, migrated: str
) -> None:
    async with proxy(migrated) as between:
        runner = await start("r1", *SHORT_LEASE, url=between.url)
        await runner.said("listening on")
        between.refuse()
        between.cut()

        async def is_ready() -> bool:
            return (await runner.get("/health/ready"))[0] == 200

        async def is_unready() -> bool:
            return (await runner.get("/health/ready"))[0] == 503

        await eventually(is_unready, "it is not ready without a database")
        between.refuse(False)
        await runner.said("registered as", times=2)
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        await eventually(is_ready, "it is ready again")


async def test_a_busy_runner_ends_when_its_connections_go_dead_without_a_word(
    queue: Queue, start: StartRunner, scratch: Path, migrated: str
) -> None:
    """Half-open: packets are swallowed, nothing is closed. Only the clock can tell."""
    made = await queue.enqueue("wait", "go")
    async with proxy(migrated) as between:
        runner = await start("r1", *SHORT_LEASE, url=between.url)
        await there(scratch / "begun")
        between.swallow()
        assert await runner.ended() == FENCED
        await start("r2")
        (scratch / "go").touch()
        assert (await until(queue, made.id, "done")).losses == 1


async def test_a_runner_whose_connections_are_cut_goes_on_and_loses_nothing(
    queue: Queue, start: StartRunner, scratch: Path, migrated: str
) -> None:
    made = await queue.enqueue("wait", "go")
    async with proxy(migrated) as between:
        await start("r1", url=between.url)
        await there(scratch / "begun")
        between.cut()
        (scratch / "go").touch()
        done = await until(queue, made.id, "done")
        assert (done.losses, done.tries) == (0, 0)
        more = await queue.enqueue_many([NewJob(kind="count")] * 50)
        for n in range(5):
            between.cut()
            await until(queue, more[10 * n].id, "done")
        for each in more:
            await until(queue, each.id, "done")
    runs = [line.split()[0] for line in (scratch / "runs").read_text().splitlines()]
    assert len(runs) == len(set(runs)) == 50


async def test_one_that_starts_while_the_database_is_away_waits_and_does_not_exit(
    queue: Queue, start: StartRunner, migrated: str
) -> None:
    async with proxy(migrated) as between:
        between.refuse()
        runner = await start("r1", url=between.url, wait=False)
        await runner.said("waiting for the database")
        await runner.said("listening on")
        assert (await runner.get("/health/ready"))[0] == 503
        assert (await runner.get("/health/live"))[0] == 200
        between.refuse(False)
        await runner.said("registered as")
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")


async def test_hard_exit_of_a_handler_costs_the_runner_and_its_jobs_come_back(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue(NewJob(kind="hard-exit", max_losses=0))
    runner = await start("r1", *SHORT_LEASE, wait=False)
    assert await runner.ended() == 9
    await start("r2", "--pool", "other")
    dead = await until(queue, made.id, "dead")
    assert (dead.cause, dead.losses, dead.tries) == ("Poison", 1, 0)
    assert not psutil.pid_exists(runner.pid)


async def test_nothing_is_left_of_a_runner_that_was_told_to_leave_while_it_waited(
    start: StartRunner, migrated: str
) -> None:
    async with proxy(migrated) as between:
        between.refuse()
        runner = await start("r1", url=between.url, wait=False)
        await runner.said("waiting for the database")
        runner.send(signal.SIGTERM)
        assert await runner.ended() == 0


async def test_a_job_in_flight_when_the_answer_to_its_claim_is_lost_goes_back(
    queue: Queue, start: StartRunner, migrated: str
) -> None:
    """The claim has committed, its answer never arrived: the lease lives on, and nobody would ever run the job."""
    async with proxy(migrated) as between:
        runner = await start("r1", url=between.url)
        await runner.said("listening on")
        incarnation = await queue.database.value("SELECT id FROM paceline.incarnation")
        # as the database sees it: a claim of this incarnation that the runner has not heard of
        async with queue.database.connection() as connection, connection.transaction():
            made = await queue.enqueue("count", connection=connection)
            await connection.fetch("SELECT * FROM paceline.step($1, 5)", incarnation)
        await runner.said("we did not hear of it")
        await until(queue, made.id, "done")


async def test_two_hundred_jobs_survive_a_database_that_restarts_under_them(tmp_path: Path, scratch: Path) -> None:
    from paceline.database import Database
    from paceline.migrate import migrate
    from paceline.testing import PostgresServer
    from runner.process import RunnerProcess

    server = await asyncio.to_thread(PostgresServer.start)
    try:
        await migrate(server.url)
        async with await Database.open(server.url) as database:
            queue = Queue(database, "builds")
            made = await queue.enqueue_many([NewJob(kind="nap", payload=0.05)] * 200)
        runner = await RunnerProcess.start(server.url, scratch, "r1", **LONG)
        try:
            await there(scratch / "ends")
            await asyncio.to_thread(server.halt)
            await asyncio.to_thread(server.resume)
            async with await Database.open(server.url) as database:
                queue = Queue(database, "builds")
                for each in made:
                    done = await until(queue, each.id, "done", seconds=90)
                    assert (done.tries, done.losses) == (0, 0)
            assert runner.process.returncode is None
        finally:
            await runner.end()
    finally:
        await asyncio.to_thread(server.stop)
