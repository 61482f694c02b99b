"""A registration refers to its Runner, a leader to its group; who writes one twice does not wait there in a circle."""

import asyncio

import pytest

from paceline.queue import Queue
from support.pg import Connect, Register, waits_for_a_lock

ACK = "SELECT verdict, refused FROM paceline.step($1, 1, $2, $3)"
REGISTER = "SELECT incarnation FROM paceline.register('r1', 'builds', '{*}')"
TICK_NOW = "UPDATE paceline.tick SET next_at = '-infinity', review_at = '-infinity'"
TAINT_GROUP = "SELECT paceline.taint_group($1, 'spec', '{leave}', '{\"\"}', '{Drain}')"
SLOW_GROUP = "SELECT paceline.taint_group($1, 'spec', '{slow}', '{\"\"}', '{PreferNoClaim}')"
TAINT_RUNNER = "SELECT paceline.taint_runner($1, 'cli', '{shy}', '{\"\"}', '{NoLead}')"


async def test_a_step_that_finds_new_lanes_does_not_wait_for_its_successor(
    queue: Queue, register: Register, connect: Connect
) -> None:
    """The housekeeping inside it looks at the lanes, then it does so itself; its successor waits for its end."""
    await queue.enqueue("mail")
    runner = await register("r1")
    (job,) = (await runner.step(1)).jobs
    cancelling, stepping, following, watcher = [await connect() for _ in range(4)]
    await cancelling.execute("BEGIN")
    await cancelling.fetchval("SELECT paceline.cancel($1)", job.id)
    await queue.enqueue("another")
    await queue.database.value(TICK_NOW)
    step = asyncio.create_task(stepping.fetch(ACK, runner.id, [job.id], [job.fence]))
    await waits_for_a_lock(watcher, stepping.get_server_pid())  # is past its gate, and waits for the job
    successor = asyncio.create_task(following.fetchval(REGISTER))
    await waits_for_a_lock(watcher, following.get_server_pid())
    await cancelling.execute("COMMIT")
    assert [tuple(row) for row in await step] == [("ok", None)]
    assert await successor > runner.id


async def test_a_group_that_is_drained_does_not_wait_for_who_taints_one_of_its_runners(
    queue: Queue, register: Register, connect: Connect
) -> None:
    group = await queue.database.value("SELECT paceline.put_group('i', 'ci', 'builds', 'builds')")
    one, two = [await register(name, group="builds", external=False) for name in ("r1", "r2")]
    claiming, draining, tainting, watcher = [await connect() for _ in range(4)]
    await queue.database.value("UPDATE paceline.tick SET next_at = 'infinity'")
    await claiming.execute("BEGIN")
    await claiming.fetch(ACK, two.id, [], [])
    drain = asyncio.create_task(draining.fetchval(TAINT_GROUP, group))
    await waits_for_a_lock(watcher, draining.get_server_pid())  # has the first registration, and waits for the second
    taint = asyncio.create_task(tainting.fetchval(TAINT_RUNNER, one.runner))
    await waits_for_a_lock(watcher, tainting.get_server_pid())
    await claiming.execute("COMMIT")
    await asyncio.gather(drain, taint)
    states = await queue.database.rows("SELECT state FROM paceline.incarnation ORDER BY id")
    assert [row["state"] for row in states] == [b"d", b"d"]


@pytest.mark.parametrize("taking", [TAINT_GROUP, "SELECT paceline.delete_group($1)"], ids=["drain", "delete"])
async def test_a_promotion_does_not_wait_for_who_has_the_group_and_wants_the_leader(
    queue: Queue, register: Register, connect: Connect, taking: str
) -> None:
    group = await queue.database.value("SELECT paceline.put_group('i', 'ci', 'builds', 'builds', p_leader => true)")
    leader, other = [await register(name, group="builds", external=False) for name in ("r1", "r2")]
    claiming, promoting, ending, watcher = [await connect() for _ in range(4)]
    await queue.database.value("UPDATE paceline.tick SET next_at = 'infinity'")
    await claiming.execute("BEGIN")
    await claiming.fetch(ACK, leader.id, [], [])
    promotion = asyncio.create_task(promoting.fetchval("SELECT paceline.promote($1, $2)", group, other.runner))
    await waits_for_a_lock(watcher, promoting.get_server_pid())  # has written the leader once, and waits for the claim
    end = asyncio.create_task(ending.fetchval(taking, group))
    await waits_for_a_lock(watcher, ending.get_server_pid())
    await claiming.execute("COMMIT")
    await asyncio.gather(promotion, end)
    led = await queue.database.rows("SELECT FROM paceline.leader l WHERE l.incarnation IS NOT NULL")
    assert led == []


async def test_a_promotion_passes_by_who_taints_the_group_and_leaves_the_leader_alone(
    queue: Queue, register: Register, connect: Connect
) -> None:
    group = await queue.database.value("SELECT paceline.put_group('i', 'ci', 'builds', 'builds', p_leader => true)")
    _, other = [await register(name, group="builds", external=False) for name in ("r1", "r2")]
    tainting, promoting = await connect(), await connect()
    await promoting.execute("SET lock_timeout = '2s'")
    await tainting.execute("BEGIN")
    await tainting.fetchval(SLOW_GROUP, group)
    await promoting.fetchval("SELECT paceline.promote($1, $2)", group, other.runner)
    await tainting.execute("COMMIT")
    assert await queue.database.value("SELECT l.incarnation FROM paceline.leader l") == other.id
