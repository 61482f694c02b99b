"""A runner without a database does all that one with a login does: by a WebSocket, and by long polls."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from runner.gateway.door import Dial, Door
from runner.gateway.strict import strict_proxy
from runner.process import attempts, eventually, seen, there, until

WIRES = ("WebSocket", "long polls")


@pytest.fixture(params=WIRES)
async def by(request: pytest.FixtureRequest, door: Door) -> AsyncIterator[str]:
    """An address of the gateway by which runners come to use one or the other."""
    if request.param == WIRES[0]:
        yield door.url
    else:
        async with strict_proxy(door.url) as url:
            yield url


async def test_every_kind_of_handler_works_and_says_what_it_has_to_say(
    queue: Queue, dial: Dial, by: str, scratch: Path
) -> None:
    mail, loud, apart, command, segfault, limited, broken, progress = await queue.enqueue_many(
        [NewJob(kind="mail", payload={"to": "ann"}), NewJob(kind="loud", payload="hello"),
         NewJob(kind="apart", payload=21), NewJob(kind="command", payload=["in"]), NewJob(kind="segfault"),
         NewJob(kind="limited", payload=True), NewJob(kind="broken", payload="no luck", max_tries=2),
         NewJob(kind="progress", payload="go")]
    )  # fmt: skip
    runner = await dial("laptop", url=by, wait=False)
    await runner.said("registered as laptop in pool builds")
    done = await until(queue, mail.id, "done")
    assert (done.runner, done.losses, done.tries) == ("laptop", 0, 0)
    assert "sending to ann" in ((await attempts(queue, mail.id))[0].output or "")
    await until(queue, loud.id, "done")
    assert "said hello" in ((await attempts(queue, loud.id))[0].output or "")
    result = (await until(queue, apart.id, "done")).result
    assert isinstance(result, dict)
    assert result["twice"] == 42
    assert result["pid"] != runner.pid
    assert (await until(queue, command.id, "done")).result == {"got": ["in"]}
    assert (await until(queue, segfault.id, "dead")).cause == "Crashed"
    assert (await until(queue, limited.id, "done")).result == "in time", "it has extended its timeout"
    dead = await until(queue, broken.id, "dead")
    assert (dead.cause, dead.tries) == ("Failed", 2)
    assert [each.outcome for each in await attempts(queue, broken.id)] == ["failed"] * 2

    async def is_seen() -> bool:
        return (await seen(queue, progress.id)).progress == {"half": True}

    await eventually(is_seen, "its progress is seen")
    (scratch / "go").touch()
    await until(queue, progress.id, "done")
    (node,) = await Reader(queue.database).list_runners("builds")
    assert (node.id, node.state, node.slots, node.external) == ("laptop", "active", 4, True)


async def test_many_jobs_are_done_once_each_and_never_more_at_once_than_there_are_slots(
    queue: Queue, dial: Dial, by: str, scratch: Path
) -> None:
    made = await queue.enqueue_many([NewJob(kind="nap", payload=0.02)] * 60)
    await dial("r1", url=by, wait=False, PACELINE_SLOTS="3")
    most = 0

    async def all_are_done() -> bool:
        nonlocal most
        running, left = await _count(queue)
        most = max(most, running)
        return left == 0

    await eventually(all_are_done, "all are done")
    assert most <= 3
    ends = [int(line.split()[0]) for line in (scratch / "ends").read_text().splitlines()]
    assert sorted(ends) == [each.id for each in made]


async def _count(queue: Queue) -> tuple[int, int]:
    sql = "SELECT count(*) FILTER (WHERE state = 'x') AS running, count(*) AS left FROM paceline.job"
    (row,) = await queue.database.rows(sql)
    return row["running"], row["left"]


async def test_a_cancel_reaches_a_running_handler(queue: Queue, dial: Dial, by: str, scratch: Path) -> None:
    """Long before the next heartbeat."""
    made = await queue.enqueue("wait", "never")
    await dial("r1", url=by, wait=False, PACELINE_HEARTBEAT_INTERVAL_SECS="15")
    await there(scratch / "begun")
    assert await queue.cancel(made.id) == "cancelling"
    await there(scratch / "cancelled")
    await until(queue, made.id, "cancelled")


async def test_it_finishes_what_runs_claims_nothing_and_leaves(
    queue: Queue, dial: Dial, by: str, scratch: Path
) -> None:
    running = await queue.enqueue("wait", "go")
    runner = await dial("r1", url=by, wait=False)
    await there(scratch / "begun")
    runner.send(signal.SIGTERM)
    await runner.said("draining")
    state = "SELECT state = 'd' FROM paceline.incarnation"
    await eventually(lambda: queue.database.value(state), "all can see that it drains")
    later = await queue.enqueue("wait", "go")
    assert (await runner.get("/health/ready"))[0] == 503
    (scratch / "go").touch()
    assert await runner.ended() == 0
    assert ((await seen(queue, running.id)).result, (await seen(queue, later.id)).state) == ("seen", "ready")
    assert await queue.database.value("SELECT cause FROM paceline.incarnation") == "Deregistered"


async def test_a_second_signal_hands_back_at_once(queue: Queue, dial: Dial, by: str, scratch: Path) -> None:
    made = await queue.enqueue("wait", "never")
    runner = await dial("r1", url=by, wait=False)
    await there(scratch / "begun")
    runner.send(signal.SIGTERM)
    await runner.said("draining")
    runner.send(signal.SIGTERM)
    assert await runner.ended() == 0
    back = await seen(queue, made.id)
    assert (back.state, back.tries, back.losses) == ("ready", 0, 0)
    assert {each.outcome for each in await attempts(queue, made.id)} == {"handed_back"}


async def test_a_taint_drains_it_and_an_order_of_the_database_takes_its_time(
    queue: Queue, dial: Dial, by: str, scratch: Path
) -> None:
    made = await queue.enqueue("wait", "go")
    runner = await dial("r1", url=by, wait=False, PACELINE_DRAIN_TIMEOUT_SECS="0.5", PACELINE_GRACE_SECS="0.5")
    await there(scratch / "begun")
    await queue.database.value("SELECT paceline.drain((SELECT max(id) FROM paceline.incarnation))")
    await runner.said("as long as it takes")
    await asyncio.sleep(1.5)  # three times the timeout that must not count
    assert (await seen(queue, made.id)).state == "running"
    sql = "SELECT paceline.taint_runner(id, 'annotation', '{maint}', '{\"\"}', '{Drain}') FROM paceline.runner"
    await queue.database.value(sql)
    assert await runner.ended() == 0
    assert (await seen(queue, made.id)).state == "ready"


async def test_a_drain_is_heard_of_long_before_the_next_heartbeat(
    queue: Queue, dial: Dial, by: str, scratch: Path
) -> None:
    """With all that it says: a taint gives it until the timeout and no longer."""
    await queue.enqueue("wait", "go")
    runner = await dial("r1", url=by, wait=False, PACELINE_HEARTBEAT_INTERVAL_SECS="15")
    await there(scratch / "begun")
    await runner.said("listening on")

    async def last_beat() -> object:
        (node,) = json.loads((await runner.get("/cluster/nodes"))[1])
        return node["last_heartbeat"]

    await eventually(last_beat, "it has beaten once")
    before = await last_beat()
    sql = "SELECT paceline.taint_runner(id, 'annotation', '{maint}', '{\"\"}', '{Drain}') FROM paceline.runner"
    await queue.database.value(sql)
    await runner.said("at most 300 s")
    assert await last_beat() == before
    (scratch / "go").touch()
    assert await runner.ended() == 0


async def test_it_leaves_after_as_many_jobs_as_it_was_told(queue: Queue, dial: Dial, by: str) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail", payload={"to": "ann"})] * 3)
    runner = await dial("r1", url=by, wait=False, PACELINE_MAX_JOBS="2")
    assert await runner.ended() == 0
    states = [(await seen(queue, each.id)).state for each in made]
    assert sorted(states) == ["done", "done", "ready"]


async def test_long_polls_are_used_where_no_websocket_comes_through_and_it_says_so_once(
    queue: Queue, dial: Dial, door: Door
) -> None:
    async with strict_proxy(door.url) as url:
        runner = await dial("r1", url=url, wait=False)
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        await runner.said("no WebSocket comes through")
        assert "the answer is 403" in runner.log
    assert len([line for line in runner.lines if "by long polls" in line]) == 1


async def test_no_port_is_needed(queue: Queue, dial: Dial) -> None:
    runner = await dial("r1", "--listen", "none")
    made = await queue.enqueue("mail", {"to": "ann"})
    await until(queue, made.id, "done")
    assert "listen" not in runner.log
    sockets = psutil.Process(runner.pid).net_connections()
    assert [each for each in sockets if each.status == psutil.CONN_LISTEN] == []


async def test_a_command_does_not_get_the_token(queue: Queue, dial: Dial, scratch: Path) -> None:
    made = await queue.enqueue("command-env")
    await dial("r1")
    kept = (await until(queue, made.id, "done")).result
    assert isinstance(kept, list)
    assert "PACELINE_TOKEN" not in kept
    assert "PACELINE_GATEWAY" in kept
