"""Scale-down against claims, registrations and itself: several sessions at once, and nobody who works is chosen."""

import asyncio
import random
from datetime import timedelta

from paceline.claims import Finished, Incarnation
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from postgres.operating.crew import RETIRE, Join
from support.pg import STEP, Connect, behind

REGISTER = """
SELECT incarnation, state FROM paceline.register($1, '', '{*}', p_install => 'main', p_namespace => 'ci',
    p_group => 'builds', p_external => false)"""
HELD = """
SELECT count(*) FROM paceline.job j JOIN paceline.incarnation i ON i.id = j.incarnation
  JOIN paceline.runner r ON r.id = i.runner WHERE j.state = 'x' AND r.name = ANY ($1)"""
NO_TICK = "UPDATE paceline.tick SET next_at = 'infinity'"


async def test_a_claim_in_flight_makes_a_runner_busy_and_another_is_chosen(
    queue: Queue, group: int, join: Join, connect: Connect
) -> None:
    await queue.enqueue("mail")
    first, _ = await join("a"), await join("b")
    await queue.database.value(NO_TICK)
    claiming, retiring = await connect(), await connect()
    await claiming.execute("BEGIN")
    assert len((await claiming.fetch(STEP, first.id, 1))[0]["ids"]) == 1
    await retiring.execute("SET lock_timeout = '5s'")
    assert await retiring.fetchval(RETIRE, group, 1, []) == ["b"]
    await claiming.execute("COMMIT")
    assert (await first.heartbeat()).verdict == "ok"
    assert await retiring.fetchval(RETIRE, group, 1, []) == []


async def test_a_claim_that_committed_between_the_look_and_the_lock_is_seen(
    queue: Queue, group: int, join: Join, connect: Connect
) -> None:
    """The order was made before the claim; the jobs are looked at behind the lock."""
    await queue.enqueue("mail")
    runner = await join("a")
    retiring = await connect()
    async with retiring.transaction():
        ranked = await retiring.fetchval("SELECT paceline.rank_idle($1, '{}', 'new')", group)
        assert ranked == ["a"]
        assert len((await runner.step(1)).jobs) == 1
        assert await retiring.fetchval("SELECT paceline.retire_idle($1, $2)", group, ranked) == []
    assert (await runner.heartbeat()).verdict == "ok"


async def test_a_claim_that_waited_for_it_takes_nothing(queue: Queue, group: int, join: Join, connect: Connect) -> None:
    await queue.enqueue("mail")
    runner = await join("a")
    retiring, claiming, watcher = await connect(), await connect(), await connect()
    await retiring.execute("BEGIN")
    assert await retiring.fetchval(RETIRE, group, 1, []) == ["a"]
    (row,) = await behind(retiring, watcher, claiming, STEP, runner.id, 1)
    assert tuple(row) == ("draining", None)


async def test_it_waits_for_a_registration_and_sees_who_came(queue: Queue, group: int, connect: Connect) -> None:
    registering, retiring, watcher = await connect(), await connect(), await connect()
    await registering.execute("BEGIN")
    assert (await registering.fetch(REGISTER, "a"))[0]["state"] == b"a"
    (row,) = await behind(registering, watcher, retiring, RETIRE, group, 1, ["a"])
    assert row[0] == ["a"]
    assert await queue.database.value("SELECT state FROM paceline.incarnation") == b"d"


async def test_a_registration_that_waited_for_it_begins_to_drain(group: int, connect: Connect) -> None:
    retiring, registering, watcher = await connect(), await connect(), await connect()
    await retiring.execute("BEGIN")
    assert await retiring.fetchval(RETIRE, group, 1, ["a"]) == ["a"]
    (row,) = await behind(retiring, watcher, registering, REGISTER, "a")
    assert row["state"] == b"d"


async def test_two_at_once_choose_different_ones(group: int, join: Join, connect: Connect) -> None:
    for name in "abcde":
        await join(name)
    one, two, watcher = await connect(), await connect(), await connect()
    await one.execute("BEGIN")
    assert await one.fetchval(RETIRE, group, 2, []) == ["a", "b"]
    (row,) = await behind(one, watcher, two, RETIRE, group, 2, [])
    assert row[0] == ["c", "d"]


async def test_a_runner_that_is_being_tainted_is_passed_over(group: int, join: Join, connect: Connect) -> None:
    """Who taints has the Runner and waits for its registration; who waited the other way round would wait for ever."""
    first, _ = await join("a"), await join("b")
    tainting, retiring = await connect(), await connect()
    await tainting.execute("BEGIN")
    await tainting.execute("SELECT FROM paceline.runner WHERE id = $1 FOR UPDATE", first.runner)
    await retiring.execute("SET lock_timeout = '5s'")
    assert await retiring.fetchval(RETIRE, group, 1, []) == ["b"]


async def test_under_load_nobody_who_works_is_ever_chosen(
    queue: Queue, operating: Operating, group: int, join: Join, connect: Connect
) -> None:
    """Twelve runners claim and finish as fast as they can while two sessions scale down to nothing, one at a time."""
    draw = random.Random(7)  # noqa: S311 -- a pace, not a secret
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3000)])
    crew = {name: await join(name, lease=timedelta(hours=1)) for name in (f"r{n}" for n in range(12))}
    broken: list[str] = []
    done = 0

    async def work(runner: Incarnation) -> None:
        nonlocal done
        finished: list[Finished] = []
        while True:
            step = await runner.step(2, finished)
            done += len(finished)
            if step.refused or (step.verdict != "ok" and step.jobs):
                broken.append(f"{step}")
            finished = [Finished(job) for job in step.jobs]
            if step.verdict != "ok" or not step.jobs:
                return
            await asyncio.sleep(draw.random() / 500)

    async def scale_down(retired: list[str]) -> None:
        session = await connect()
        while any(not each.done() for each in working):
            async with session.transaction():
                chosen = await session.fetchval(RETIRE, group, 1, [])
                if await session.fetchval(HELD, chosen):
                    broken.append(f"{chosen} held jobs when it was chosen")
            retired += chosen
            if await session.fetchval(HELD, retired):
                broken.append(f"one of {retired} holds jobs")
            await asyncio.sleep(0.005)

    working = [asyncio.create_task(work(runner)) for runner in crew.values()]
    lists: tuple[list[str], list[str]] = ([], [])
    await asyncio.gather(*working, *(scale_down(each) for each in lists))
    assert broken == []
    chosen = lists[0] + lists[1]
    assert len(chosen) == len(set(chosen))
    assert await queue.database.value("SELECT count(*) FROM paceline.attempt") == 0, "nothing was lost or handed back"
    assert await queue.database.value("SELECT count(*) FROM paceline.history") == done
    seen = {each.runner for each in await operating.look_at_group(group) if each.retiring}
    assert seen == set(chosen)
