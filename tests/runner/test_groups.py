"""Runners of a group: leaders and standbys, taints from the command line, and a deploy that nobody notices."""

import asyncio
import signal
import time
from pathlib import Path

from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from runner.process import StartRunner, eventually, seen, there, until
from support.pg import logins

GROUP = "SELECT paceline.put_group('main', 'ci', 'builds', 'builds', p_leader => true)"


async def test_only_the_leader_works_and_a_standby_takes_over_while_it_drains(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    await queue.database.value(GROUP)
    first = await start("r1", "--group", "ci/builds", PACELINE_POOL="whatever")
    await first.said("registered as r1 in pool builds")
    await start("r2", "--group", "ci/builds")
    held = await queue.enqueue("wait", "go")
    assert (await until(queue, held.id, "running")).runner == "r1"
    first.send(signal.SIGTERM)
    await first.said("draining")
    made = await queue.enqueue("mail", {"to": "ann"})
    done = await until(queue, made.id, "done")
    assert done.runner == "r2"
    assert first.process.returncode is None
    (scratch / "go").touch()
    assert await first.ended() == 0
    assert (await seen(queue, held.id)).runner == "r1"


async def test_a_standby_is_quiet(queue: Queue, start: StartRunner) -> None:
    await queue.database.value(GROUP)
    await start("r1", "--group", "ci/builds")
    standby = await start("r2", "--group", "ci/builds")
    await standby.said("listening on")
    began, before = time.monotonic(), await standby.steps()
    await asyncio.sleep(4)
    looks, seconds = await standby.steps() - before, time.monotonic() - began
    assert looks <= 2 + seconds // 4, "one look in four seconds, and perhaps one wake-up"


async def test_taints_of_the_command_line_stay_until_others_are_given(queue: Queue, start: StartRunner) -> None:
    laptop = await start("laptop", "--taint", "dev:NoClaim")
    await laptop.said("listening on")
    made, tolerant = await queue.enqueue_many(
        [NewJob(kind="mail", payload={"to": "ann"}), NewJob(kind="mail", payload={"to": "bob"}, tolerations=("dev",))]
    )
    await until(queue, tolerant.id, "done")
    assert (await seen(queue, made.id)).state == "ready"
    (node,) = await Reader(queue.database).list_runners("builds")
    assert node.taints == ("dev:NoClaim",)
    laptop.send(signal.SIGTERM)
    assert await laptop.ended() == 0
    again = await start("laptop")
    (node,) = await Reader(queue.database).list_runners("builds")
    assert node.taints == ("dev:NoClaim",)
    again.send(signal.SIGTERM)
    assert await again.ended() == 0
    await start("laptop", "--taint", "")
    await until(queue, made.id, "done")


async def test_without_wake_ups_work_is_found_by_looking(queue: Queue, start: StartRunner, migrated: str) -> None:
    """Behind PgBouncer LISTEN gives neither a message nor an error; who says so in the URL is not even probed."""
    runner = await start("r1", url=f"{migrated}?pgbouncer=1")
    await runner.said("listening on")
    waits = []
    for _ in range(3):
        began = time.monotonic()
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        waits.append(time.monotonic() - began)
    assert sorted(waits)[1] < 3, "who counts on wake-ups looks every four or five seconds"
    assert await queue.database.value("SELECT count(*) FROM paceline.waiter") == 0


async def test_a_thousand_jobs_over_a_rolling_restart_of_five_runners_run_once_each_and_none_is_charged(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    made = await queue.enqueue_many([NewJob(kind="nap", payload=0.02 * (n % 7)) for n in range(1000)])
    runners = [await start(f"r{n}", PACELINE_SLOTS="8") for n in range(5)]
    await there(scratch / "ends")
    for n, old in enumerate(runners):
        old.send(signal.SIGTERM)
        assert await old.ended() == 0
        runners[n] = await start(f"r{n}", PACELINE_SLOTS="8")
    sql = "SELECT count(*) = 1000 FROM paceline.history WHERE outcome = 'd' AND tries = 0 AND losses = 0"
    await eventually(lambda: queue.database.value(sql), "all are done, uncharged", 120)
    runs = [line.split()[0] for line in (scratch / "runs").read_text().splitlines()]
    assert sorted(map(int, runs)) == [each.id for each in made]
    assert not await queue.database.value("SELECT count(*) FROM paceline.attempt")


async def test_a_login_of_another_pool_is_refused_with_what_to_ask_for(
    queue: Queue, start: StartRunner, migrated: str
) -> None:
    await queue.database.value(GROUP)
    async with logins(queue.database, migrated) as login_url:
        stranger = await start("laptop", "--group", "ci/builds", url=await login_url("runner", "mail"), wait=False)
        assert await stranger.ended() == 1
        assert 'may not do this on pool "builds"' in stranger.log
        assert "paceline pool grant builds --login" in stranger.log
    assert await queue.database.value("SELECT count(*) FROM paceline.runner") == 0
