"""A runner without a database and all that comes between it and its gateway: nothing is lost or done twice."""

import asyncio
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from paceline.job import NewJob
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from runner.gateway.door import Dial, Door, Resume, TokenOf
from runner.gateway.strict import strict_proxy
from runner.process import attempts, eventually, seen, there, until
from support.proxy import proxy

FENCED = 70
UNHURRIED = ("--heartbeat-interval", "10")
"""So long the gateway may take to hear of a handler that is stuck."""
LONG = 60
"""Seconds to come back in, where it is not the time that matters."""
WIRES = ("WebSocket", "long polls")


async def test_a_killed_runners_job_is_done_by_another_and_the_loss_is_counted(
    queue: Queue, dial: Dial, scratch: Path
) -> None:
    made = await queue.enqueue("wait", "go")
    first = await dial("r1")
    await there(scratch / "begun")
    first.send(signal.SIGKILL)
    await dial("r2")
    (scratch / "go").touch()
    done = await until(queue, made.id, "done")
    assert (done.runner, done.losses, done.tries) == ("r2", 1, 0)
    (lost,) = await attempts(queue, made.id)
    assert (lost.outcome, lost.cause, lost.runner) == ("lost", "Disconnected", "r1")


@pytest.mark.usefixtures("short_lease")
async def test_a_runner_that_was_stopped_for_longer_than_its_lease_lets_go_when_it_wakes(
    queue: Queue, dial: Dial, scratch: Path
) -> None:
    """Three of them: whether the main thread or the keeper's is the first to run after SIGCONT is chance."""
    stopped = [await dial(f"r{n}", PACELINE_SLOTS="1") for n in range(3)]
    made = await queue.enqueue_many([NewJob(kind="wait", payload="go")] * 3)
    await eventually(lambda: _lines(scratch / "begun", 3), "all have begun")
    for each in stopped:
        each.send(signal.SIGSTOP)
    await dial("other", PACELINE_SLOTS="3")
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


async def _lines(path: Path, count: int) -> bool:
    return path.exists() and len(path.read_text().splitlines()) >= count  # noqa: ASYNC240 -- tiny


@pytest.mark.usefixtures("medium_lease")
async def test_a_handler_that_never_yields_does_not_lose_its_runner(queue: Queue, dial: Dial, scratch: Path) -> None:
    """15 s is longer than the lease of 12 s, and than the 7.5 s in which a connection must answer a ping."""
    made = await queue.enqueue("block", 15.0)
    await dial("r1", PACELINE_HEARTBEAT_INTERVAL_SECS="2")
    await there(scratch / "begun")
    await dial("r2")
    done = await until(queue, made.id, "done", seconds=90)
    assert (done.runner, done.losses) == ("r1", 0)


@pytest.mark.parametrize("by", WIRES)
async def test_a_run_that_comes_while_the_loop_is_held_is_not_kept_from_others(
    queue: Queue, dial: Dial, door: Door, scratch: Path, by: str
) -> None:
    """It goes back long before its time to be confirmed is over, and the first gets no more until its loop turns."""
    async with strict_proxy(door.url) as strict:
        holding = await queue.enqueue("hold", "go")
        await dial("r1", url=door.url if by == WIRES[0] else strict, wait=False, PACELINE_SLOTS="3")
        await there(scratch / "begun")
        made = await queue.enqueue("nap", 0.01)
        await eventually(lambda: attempts(queue, made.id), "it is given back")
        other = await dial("r2")
        done = await until(queue, made.id, "done")
        assert (done.runner, done.losses, done.tries) == ("r2", 0, 0)
        (back,) = await attempts(queue, made.id)
        assert (back.outcome, back.cause, back.runner) == ("handed_back", "HandedBack", "r1")
        other.send(signal.SIGTERM)
        assert await other.ended() == 0
        (scratch / "go").touch()
        await until(queue, holding.id, "done")
        mail = await queue.enqueue("mail", {"to": "ann"})
        assert (await until(queue, mail.id, "done")).runner == "r1"
    assert len((scratch / "ends").read_text().splitlines()) == 1


async def test_a_handler_that_never_yields_does_not_keep_a_runner_that_was_told_to_leave(
    queue: Queue, dial: Dial, scratch: Path
) -> None:
    made = await queue.enqueue("block", 60.0)
    runner = await dial("r1", *UNHURRIED, PACELINE_GRACE_SECS="0.5", PACELINE_DRAIN_TIMEOUT_SECS="0.5")
    await there(scratch / "begun")
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)


async def test_a_handler_that_never_yields_and_has_timed_out_costs_the_runner(
    queue: Queue, dial: Dial, scratch: Path
) -> None:
    made = await queue.enqueue(NewJob(kind="block", payload=60.0, timeout=timedelta(seconds=0.5), max_losses=0))
    runner = await dial("r1", *UNHURRIED, PACELINE_GRACE_SECS="0.5")
    await there(scratch / "begun")
    assert await runner.ended() == FENCED
    assert f"does not yield, and job {made.id} has timed out" in runner.log
    dead = await until(queue, made.id, "dead")
    assert (dead.cause, "HandlerStuck" in (dead.error or "")) == ("Poison", True)


async def test_a_runner_whose_connections_are_cut_goes_on_and_loses_nothing(
    queue: Queue, dial: Dial, door: Door, scratch: Path, resume: Resume
) -> None:
    await resume(LONG)
    made = await queue.enqueue("wait", "go")
    async with proxy(door.url) as between:
        await dial("r1", url=between.url)
        await there(scratch / "begun")
        between.cut()
        (scratch / "go").touch()
        done = await until(queue, made.id, "done")
        assert (done.losses, done.tries, done.runner) == (0, 0, "r1")
        more = await queue.enqueue_many([NewJob(kind="count")] * 50)
        for n in range(5):
            between.cut()
            await until(queue, more[10 * n].id, "done", seconds=45)
        for each in more:
            await until(queue, each.id, "done", seconds=45)
    runs = [line.split()[0] for line in (scratch / "runs").read_text().splitlines()]
    assert len(runs) == len(set(runs)) == 50


@pytest.mark.usefixtures("short_lease")
async def test_a_busy_runner_ends_when_its_connections_go_dead_without_a_word(
    queue: Queue, dial: Dial, door: Door, scratch: Path
) -> None:
    """Half-open: packets are swallowed, nothing is closed. Only the clock can tell."""
    made = await queue.enqueue("wait", "go")
    async with proxy(door.url) as between:
        runner = await dial("r1", url=between.url)
        await there(scratch / "begun")
        await dial("r2")
        between.swallow()
        await eventually(lambda: _lines(scratch / "begun", 2), "another one has begun it")
        assert await runner.ended(5) == FENCED, "it has let go before"
        (scratch / "go").touch()
        assert (await until(queue, made.id, "done")).losses == 1


async def test_a_connection_that_went_dead_is_found_out_and_the_job_goes_on_by_another(
    queue: Queue, dial: Dial, door: Door, scratch: Path, resume: Resume
) -> None:
    """By pings: heartbeats would take half a minute."""
    await resume(LONG)
    made = await queue.enqueue("wait", "go")
    async with proxy(door.url) as between:
        runner = await dial("r1", url=between.url, PACELINE_HEARTBEAT_INTERVAL_SECS="15")
        await there(scratch / "begun")
        between.forget()
        await runner.said("connected to the gateway", times=2)
        assert "does not answer" not in runner.log
        (scratch / "go").touch()
        done = await until(queue, made.id, "done")
        assert (done.losses, done.tries, done.runner) == (0, 0, "r1")


async def test_an_idle_runner_whose_connection_is_cut_is_back_before_it_is_given_up(
    queue: Queue, dial: Dial, door: Door, resume: Resume
) -> None:
    """It has ten seconds, and the next heartbeat is later."""
    await resume(10)
    async with proxy(door.url) as between:
        runner = await dial("r1", url=between.url, PACELINE_HEARTBEAT_INTERVAL_SECS="15")
        between.cut()
        await runner.said("connected to the gateway", times=2)
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        assert await queue.database.value("SELECT count(*) FROM paceline.incarnation") == 1


@pytest.mark.usefixtures("short_lease")
@pytest.mark.parametrize("by", WIRES)
async def test_an_idle_runner_outlives_a_gateway_that_is_away_longer_than_its_lease(
    queue: Queue, dial: Dial, door: Door, by: str
) -> None:
    async with proxy(door.url) as between, strict_proxy(between.url) as strict:
        runner = await dial("r1", url=between.url if by == WIRES[0] else strict, wait=False)
        await runner.said("registered as")
        await runner.said("listening on")
        between.refuse()
        between.cut()

        async def is_unready() -> bool:
            return (await runner.get("/health/ready"))[0] == 503

        await eventually(is_unready, "it is not ready without a gateway")
        between.refuse(False)
        await runner.said("registered as", times=2)
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")


async def test_one_that_starts_while_the_gateway_is_away_waits_and_does_not_exit(
    queue: Queue, dial: Dial, door: Door
) -> None:
    async with proxy(door.url) as between:
        between.refuse()
        runner = await dial("r1", url=between.url, wait=False)
        await runner.said("waiting for the gateway: cannot reach the gateway 127.0.0.1")
        await runner.said("listening on")
        assert (await runner.get("/health/ready"))[0] == 503
        between.refuse(False)
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        between.refuse()
        other = await dial("r2", url=between.url, wait=False)
        await other.said("waiting for the gateway")
        other.send(signal.SIGTERM)
        assert await other.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_gateway_that_is_started_anew_costs_nothing(
    queue: Queue, dial: Dial, gateway_url: str, scratch: Path, number: signal.Signals, resume: Resume
) -> None:
    await resume(LONG)
    (port,) = free_ports(1)
    held = await queue.enqueue("wait", "go")
    naps = await queue.enqueue_many([NewJob(kind="nap", payload=0.3)] * 30)
    first = await _gateway(gateway_url, port)
    try:
        await dial("r1", url=f"http://127.0.0.1:{port}")
        await eventually(lambda: _lines(scratch / "ends", 4), "some are done")
        first.send_signal(number)
        await first.wait()
        second = await _gateway(gateway_url, port)
        try:
            (scratch / "go").touch()
            for each in (held, *naps):
                done = await until(queue, each.id, "done", seconds=45)
                assert (done.losses, done.tries, done.runner) == (0, 0, "r1")
        finally:
            second.kill()
            await second.wait()
    finally:
        if first.returncode is None:
            first.kill()
            await first.wait()
    ends = [line.split()[0] for line in (scratch / "ends").read_text().splitlines()]
    assert len(ends) == len(set(ends)) == 30


async def _gateway(url: str, port: int) -> asyncio.subprocess.Process:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_cli", "gateway", "--listen", f"127.0.0.1:{port}", "--leave", "0",
        env={**kept, "PACELINE_DATABASE_URL": url}, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip

    async def listens() -> bool:
        assert process.returncode is None
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    await eventually(listens, "the gateway listens")
    return process


async def test_it_resumes_at_another_gateway(
    queue: Queue, dial: Dial, door: Door, gateway_url: str, scratch: Path, resume: Resume
) -> None:
    await resume(LONG)
    made = await queue.enqueue("wait", "go")
    other = Door(gateway_url)
    await other.open()
    try:
        async with proxy(door.url) as between:
            runner = await dial("r1", url=between.url)
            await there(scratch / "begun")
            between.lead_to(other.url)
            await door.shut()
            await runner.said("connected to the gateway", times=2)
            (scratch / "go").touch()
            done = await until(queue, made.id, "done")
            assert (done.losses, done.tries, done.runner) == (0, 0, "r1")
            assert await queue.database.value("SELECT count(*) FROM paceline.incarnation") == 1
    finally:
        await other.shut()


async def test_the_newest_of_a_name_wins_and_one_that_drains_finishes(queue: Queue, dial: Dial, scratch: Path) -> None:
    """A rolling restart with one token: the old process is told to leave, the new one is there before it has."""
    made = await queue.enqueue("wait", "go")
    old = await dial("r1")
    await there(scratch / "begun")
    old.send(signal.SIGTERM)
    await old.said("draining")
    await eventually(lambda: queue.database.value("SELECT state = 'd' FROM paceline.incarnation"), "all can see it")
    new = await dial("r1")
    mail = await queue.enqueue("mail", {"to": "ann"})
    await until(queue, mail.id, "done")
    (scratch / "go").touch()
    assert await old.ended() == 0
    done = await seen(queue, made.id)
    assert (done.state, done.losses) == ("done", 0)
    newest = await dial("r1")
    assert await new.ended() == FENCED
    assert "another process has registered under its name" in new.log
    assert newest.process.returncode is None


async def test_one_that_was_cut_off_while_its_name_was_taken_does_not_take_it_back(
    queue: Queue, dial: Dial, door: Door
) -> None:
    async with proxy(door.url) as between:
        old = await dial("r1", url=between.url)
        between.swallow()
        new = await dial("r1")
        between.cut()
        between.refuse(False)
        assert await old.ended() == FENCED
        assert "another process has registered under its name" in old.log
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        assert new.process.returncode is None


@pytest.mark.parametrize("by", WIRES)
async def test_a_token_that_is_revoked_ends_its_runner(
    queue: Queue, dial: Dial, door: Door, token: TokenOf, by: str
) -> None:
    async with strict_proxy(door.url) as strict:
        runner = await dial("r1", url=door.url if by == WIRES[0] else strict, wait=False)
        await runner.said("by WebSocket" if by == WIRES[0] else "by long polls")
        await Tokens(queue.database).revoke((await token("r1")).split("_")[1])
        assert await runner.ended() == FENCED
        assert "its login or its token" in runner.log


@pytest.mark.parametrize("by", WIRES)
async def test_a_token_that_expires_ends_its_runner_and_its_jobs_go_to_others(
    queue: Queue, dial: Dial, door: Door, scratch: Path, by: str
) -> None:
    made = await queue.enqueue("wait", "go")
    async with strict_proxy(door.url) as strict:
        runner = await dial("r1", url=door.url if by == WIRES[0] else strict, wait=False)
        await there(scratch / "begun")
        await queue.database.value("UPDATE paceline.token SET expires_at = clock_timestamp()")
        assert await runner.ended() == FENCED
        assert "its login or its token" in runner.log
    back = await until(queue, made.id, "ready")
    (lost,) = await attempts(queue, made.id)
    assert (back.losses, lost.outcome, lost.cause) == (1, "lost", "Revoked")


@pytest.mark.parametrize("by", WIRES)
async def test_a_token_that_is_revoked_while_its_runner_is_cut_off_ends_it_too(
    queue: Queue, dial: Dial, door: Door, token: TokenOf, by: str
) -> None:
    async with proxy(door.url) as between, strict_proxy(between.url) as strict:
        runner = await dial("r1", url=between.url if by == WIRES[0] else strict, wait=False)
        await runner.said("by WebSocket" if by == WIRES[0] else "by long polls")
        between.refuse()
        between.cut()
        await Tokens(queue.database).revoke((await token("r1")).split("_")[1])
        between.refuse(False)
        assert await runner.ended() == FENCED
        assert "its login or its token" in runner.log


@pytest.mark.parametrize("by", WIRES)
async def test_a_token_that_is_revoked_before_the_first_connection_ends_its_runner_too(
    queue: Queue, dial: Dial, door: Door, token: TokenOf, by: str
) -> None:
    number = (await token("r1")).split("_")[1]

    async def revoke() -> None:
        await Tokens(queue.database).revoke(number)

    async with strict_proxy(door.url, before=revoke, refusing=by == WIRES[1]) as between:
        runner = await dial("r1", url=between, wait=False)
        assert await runner.ended() == FENCED


async def test_a_job_whose_caller_was_told_that_it_is_lost_is_stopped(
    queue: Queue, dial: Dial, door: Door, scratch: Path
) -> None:
    """Nobody waits any more for a call whose runner was cut off: when it is back, its handler is ended."""
    (made,) = await enqueue_once(
        queue.database, "builds", [NewJob(kind="wait", payload="never", max_losses=0)], waits=[timedelta(minutes=5)]
    )
    async with proxy(door.url) as between:
        runner = await dial("r1", url=between.url)
        await there(scratch / "begun")
        between.cut()
        await there(scratch / "cancelled")
        assert (await seen(queue, made.id)).state == "dead"
        mail = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, mail.id, "done")
        assert runner.process.returncode is None
