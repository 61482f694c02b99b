"""Groups from the operator's side: how they stand, who may be forgotten, and what stays when a group goes."""

import asyncio

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from postgres.operating.crew import INSTALL, Join
from support.pg import Connect, Expire, Login, behind, waits_for_a_lock

REGISTER = """
SELECT incarnation, state FROM paceline.register('r1', '', '{*}', p_install => 'main', p_namespace => 'ci',
    p_group => 'builds', p_external => false)"""
FORGET = "SELECT paceline.forget_runners($1, '{r1}')"
DUE = "UPDATE paceline.tick SET next_at = '-infinity'"


async def test_a_group_that_is_put_again_keeps_its_number(operating: Operating, group: int) -> None:
    again = await operating.put_group(
        install=INSTALL, namespace="ci", name="builds", pool="builds", slots=4, tags={"linux", "arm"}, paused=True
    )
    assert again == group
    (seen,) = await operating.list_groups(INSTALL)
    assert (seen.id, seen.namespace, seen.name, seen.pool) == (group, "ci", "builds", "builds")
    assert (seen.slots, seen.tags, seen.paused, seen.leader) == (4, ("arm", "linux"), True, False)


async def test_the_groups_of_an_installation_are_its_own(
    database: Database, operating: Operating, group: int, login: Login
) -> None:
    await operating.put_group(install="other", namespace="ci", name="theirs", pool="theirs")
    await operating.put_group(install="", namespace="ci", name="unnamed", pool="unnamed")
    await Incarnation.register(database, Registration(name="free", pool="free", kinds=("*",)))
    assert [each.id for each in await operating.list_groups(INSTALL)] == [group]
    assert [each.name for each in await operating.list_groups("")] == ["unnamed"], "not what runners made themselves"
    assert [each.name for each in await operating.observe("")] == ["unnamed"]
    stranger = Operating(await login(operator="theirs"))
    assert await stranger.list_groups(INSTALL) == []
    assert [each.name for each in await stranger.list_groups("other")] == ["theirs"]


async def test_a_group_is_put_while_a_runner_registers(operating: Operating, group: int, connect: Connect) -> None:
    """A registration has its group and then refers to the pool; whoever puts a group comes the other way."""
    registering, putting, watcher = await connect(), await connect(), await connect()
    await registering.execute("BEGIN")
    await registering.execute("SELECT FROM paceline.runner_group WHERE id = $1 FOR SHARE", group)
    sql = "SELECT paceline.put_group('main', 'ci', 'builds', 'builds', p_slots => 3)"
    task = asyncio.create_task(putting.fetchval(sql))
    await waits_for_a_lock(watcher, putting.get_server_pid())
    assert (await registering.fetch(REGISTER))[0]["state"] == b"a"
    await registering.execute("COMMIT")
    assert await task == group


async def test_observing_counts_who_is_registered_busy_and_draining(
    queue: Queue, operating: Operating, group: int, leaders: int, join: Join, expire_lease: Expire
) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(5)])
    busy, leaving, late = await join("busy"), await join("leaving"), await join("late")
    await join("laptop", external=True)
    for each in (busy, leaving):
        await each.step(2)
    await leaving.drain()
    await queue.database.value("UPDATE paceline.tick SET next_at = 'infinity'")
    await expire_lease(late)
    first, second = await operating.observe(INSTALL)
    assert (first.id, first.name, first.ready, first.running) == (group, "builds", 1, 4)
    assert (first.registered, first.busy, first.draining) == (2, 1, 1)
    assert (second.id, second.dispatch, second.registered, second.busy, second.draining) == (leaders, "Leader", 0, 0, 0)
    assert await operating.observe("other") == []
    assert (await operating.observe(INSTALL, cap=1))[0].capped


async def test_observing_does_the_housekeeping_that_is_due_before_it_looks(
    queue: Queue, operating: Operating, group: int, join: Join, expire_lease: Expire
) -> None:
    await queue.enqueue("mail")
    runner = await join()
    await runner.step(1)
    await queue.database.value("UPDATE paceline.tick SET next_at = 'infinity'")
    await expire_lease(runner)
    (seen,) = await operating.observe(INSTALL)
    assert (seen.id, seen.ready, seen.running) == (group, 0, 1)
    await queue.database.value(DUE)
    (seen,) = await operating.observe(INSTALL)
    assert (seen.ready, seen.running) == (1, 0)


async def test_runners_that_live_are_not_forgotten(
    database: Database, operating: Operating, group: int, leaders: int, join: Join
) -> None:
    gone, leaving = await join("gone"), await join("leaving")
    await join("theirs", group="leaders")
    await gone.deregister()
    await leaving.drain()
    await operating.retire(group, 1, unready=["never"], revision="new")
    assert await operating.forget_runners(group, ["never", "gone", "leaving", "theirs", "nobody"]) == ["gone", "never"]
    assert [each.runner for each in await operating.look_at_group(group)] == ["leaving"]
    await database.value("UPDATE paceline.incarnation SET state = 'z'")
    assert await operating.forget_runners(group, ["theirs"]) == []
    assert await operating.forget_runners(leaders, ["theirs"]) == ["theirs"]


async def test_a_runner_that_registers_just_now_is_not_forgotten(
    operating: Operating, group: int, join: Join, connect: Connect
) -> None:
    await (await join("r1")).deregister()
    registering, forgetting, watcher = await connect(), await connect(), await connect()
    await registering.execute("BEGIN")
    await registering.fetch(REGISTER)
    (row,) = await behind(registering, watcher, forgetting, FORGET, group)
    assert row[0] == []
    assert [each.state for each in await operating.look_at_group(group)] == ["active"]


async def test_a_runner_that_is_forgotten_just_now_registers_anew(group: int, join: Join, connect: Connect) -> None:
    await (await join("r1")).deregister()
    forgetting, registering, watcher = await connect(), await connect(), await connect()
    await forgetting.execute("BEGIN")
    assert await forgetting.fetchval(FORGET, group) == ["r1"]
    (row,) = await behind(forgetting, watcher, registering, REGISTER)
    assert row["state"] == b"a"


async def test_a_deleted_group_leaves_its_jobs_and_says_why_they_were_lost(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    await runner.step(1)
    await operating.delete_group(group)
    await operating.delete_group(group)
    assert await queue.database.value("SELECT state FROM paceline.job WHERE id = $1", made.id) == b"r"
    assert await queue.database.value("SELECT cause FROM paceline.attempt") == "GroupDeleted"
    assert await queue.database.value("SELECT count(*) FROM paceline.runner") == 0
    assert await operating.list_groups(INSTALL) == []
    assert (await runner.heartbeat()).verdict == "fenced"


async def test_no_number_of_a_runner_is_given_twice(operating: Operating, group: int) -> None:
    first = await operating.number_runners(group, 3)
    second = await operating.number_runners(group, 2)
    assert (list(first), list(second)) == ([1, 2, 3], [4, 5])


async def test_the_next_revision_is_told_before_its_first_runner(
    queue: Queue, operating: Operating, group: int
) -> None:
    await operating.set_revision(group, "8")
    await queue.enqueue("mail")
    (seen,) = await operating.observe(INSTALL)
    assert (seen.ready, seen.unclaimable) == (1, 0)
