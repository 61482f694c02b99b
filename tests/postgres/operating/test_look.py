"""What a plan sees of a group: every registration that lives, every Runner without one, and what looking costs."""

import pytest

from paceline.claims import Finished
from paceline.database import Database
from paceline.errors import NotFoundError
from paceline.job import NewJob
from paceline.operating import Operating, RegistrationSeen
from paceline.queue import Queue
from postgres.operating.crew import INSTALL, Join, idle_for, taint
from support.pg import STEP, Connect, Expire

OLDER = "UPDATE paceline.incarnation SET registered_at = registered_at - interval '700 s' WHERE id = $1"
IDLE = "SELECT idle_since FROM paceline.incarnation WHERE id = $1"
ENDED = """
INSERT INTO paceline.incarnation (runner, pool, login, state, lease, lease_until, ended_at, cause, kinds, tags)
SELECT i.runner, i.pool, i.login, 'z', i.lease, i.lease_until, clock_timestamp(), 'Error', i.kinds, i.tags
  FROM paceline.incarnation i, generate_series(1, $1)"""
MANY = """
SELECT count(*) FROM generate_series(1, $1) n CROSS JOIN LATERAL paceline.register(
    $2 || n, '', '{*}', p_install => 'main', p_namespace => 'ci', p_group => $2, p_external => false)"""
READ = """
SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint FROM pg_stat_xact_user_tables
 WHERE schemaname = 'paceline' AND relname = ANY ($1)"""
HEARTBEAT = "SELECT verdict FROM paceline.heartbeat($1)"
UPDATES = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'incarnation'"


async def only(operating: Operating, group: int) -> RegistrationSeen:
    (seen,) = await operating.look_at_group(group)
    return seen


async def test_a_registration_is_seen_with_what_it_holds(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    runner = await join()
    await queue.database.value(OLDER, runner.id)
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    old, _ = (await runner.step(2)).jobs
    await queue.database.value(
        "UPDATE paceline.job SET claimed_at = claimed_at - interval '900 s' WHERE id = $1", old.id
    )
    seen = await only(operating, group)
    assert (seen.runner, seen.external, seen.retiring, seen.incarnation) == ("r1", False, False, runner.id)
    assert (seen.state, seen.leased, seen.held, seen.idle_seconds) == ("active", True, 2, None)
    assert (seen.pod_uid, seen.hostname, seen.revision, seen.slots, seen.taints) == ("uid-r1", "host-r1", "new", 2, "")
    assert seen.registered_seconds == pytest.approx(700, abs=60)
    assert seen.oldest_job_seconds == pytest.approx(900, abs=60)
    assert seen.created_seconds == pytest.approx(0, abs=60)
    assert seen.seen_seconds == pytest.approx(0, abs=60)


async def test_a_runner_without_a_registration_is_seen_too_with_when_it_was_last_heard_of(
    database: Database, operating: Operating, group: int, join: Join
) -> None:
    runner = await join()
    await database.value(
        "UPDATE paceline.runner SET seen_at = seen_at - interval '1 h', created_at = seen_at - interval '2 h'"
    )
    await runner.deregister()
    await database.value("UPDATE paceline.incarnation SET lease_until = lease_until - interval '10 min'")
    seen = await only(operating, group)
    assert (seen.runner, seen.incarnation, seen.state, seen.pod_uid) == ("r1", None, None, None)
    assert (seen.leased, seen.held, seen.slots, seen.idle_seconds) == (False, 0, None, None)
    assert seen.created_seconds == pytest.approx(7200, abs=60)
    assert seen.seen_seconds == pytest.approx(600, abs=60)


async def test_a_predecessor_that_still_finishes_and_its_successor_are_both_seen(
    operating: Operating, group: int, join: Join, expire_lease: Expire
) -> None:
    before = await join(pod_uid="one")
    await before.drain()
    await expire_lease(before)
    after = await join(pod_uid="two")
    rows = [(each.incarnation, each.state, each.leased) for each in await operating.look_at_group(group)]
    assert rows == [(before.id, "draining", False), (after.id, "active", True)]


async def test_other_groups_are_not_seen_and_one_that_is_gone_is_an_error(
    operating: Operating, group: int, leaders: int, join: Join
) -> None:
    await join("r1")
    await join("other", group="leaders")
    assert [each.runner for each in await operating.look_at_group(group)] == ["r1"]
    await operating.delete_group(leaders)
    with pytest.raises(NotFoundError, match=f"there is no group {leaders} in this database: put the group again"):
        await operating.look_at_group(leaders)


async def test_taints_are_the_effective_ones(database: Database, operating: Operating, group: int, join: Join) -> None:
    inside, laptop = await join("inside"), await join("laptop", external=True)
    sql = "SELECT paceline.taint_group($1, 'spec', '{dev,gpu}', '{bad,\"\"}', '{NoClaim,NoLead}')"
    await database.value(sql, group)
    await taint(database, inside.runner, "NoClaim")
    await taint(database, laptop.runner, "PreferNoClaim")
    taints = {each.runner: each.taints for each in await operating.look_at_group(group)}
    assert taints == {"inside": "dev=bad:NoClaim,gpu:NoLead", "laptop": "dev=bad:PreferNoClaim"}


async def test_idleness_begins_once_and_ends_with_the_next_heartbeat_under_a_job(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    runner = await join()
    await idle_for(queue.database, runner, 400)
    began = await queue.database.value(IDLE, runner.id)
    await runner.heartbeat()
    assert await queue.database.value(IDLE, runner.id) == began
    assert (await only(operating, group)).idle_seconds == pytest.approx(400, abs=60)
    await queue.enqueue("mail")
    (job,) = (await runner.step(1)).jobs
    assert (await only(operating, group)).idle_seconds is None
    assert (await runner.heartbeat()).held == 1
    assert await queue.database.value(IDLE, runner.id) is None
    await runner.step(0, [Finished(job)])
    assert (await only(operating, group)).idle_seconds is None, "nobody has noticed yet"
    assert (await runner.heartbeat()).held == 0
    assert await queue.database.value(IDLE, runner.id) > began


async def test_a_heartbeat_writes_one_row_and_no_index(
    queue: Queue, operating: Operating, group: int, join: Join, connect: Connect
) -> None:
    await queue.enqueue("mail")
    runner = await join()
    await operating.suspect_pods(group, ["uid-r1"])
    await queue.database.value("UPDATE paceline.tick SET next_at = 'infinity'")
    connection = await connect()
    async with connection.transaction():
        for _ in range(2):
            await connection.fetch(HEARTBEAT, runner.id)
        assert len((await connection.fetch(STEP, runner.id, 1))[0]["ids"]) == 1
        await connection.fetch(HEARTBEAT, runner.id)
        row = await connection.fetchrow(UPDATES)
    assert row is not None
    assert tuple(row) == (3, 3)


async def test_looking_costs_the_same_whatever_waits_and_whoever_else_is_there_or_was(
    queue: Queue, operating: Operating, group: int, connect: Connect
) -> None:
    await operating.put_group(install=INSTALL, namespace="ci", name="other", pool="other")
    await queue.database.value(MANY, 100, "builds")
    await queue.database.value(MANY, 300, "other")
    await queue.database.value(ENDED, 20)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(5000)])
    await queue.database.value("ANALYZE paceline.job, paceline.incarnation, paceline.runner")
    connection = await connect()
    async with connection.transaction():
        before = await connection.fetchval(READ, ["job", "incarnation", "runner"])
        assert await connection.fetchval("SELECT count(*) FROM paceline.look_at_group($1)", group) == 100
        touched = await connection.fetchval(READ, ["job", "incarnation", "runner"]) - before
    assert 200 <= touched < 400, "each Runner and its registration, nobody's past, and no other group"
