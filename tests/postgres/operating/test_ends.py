"""Runners that shall go, pods that are gone, and nodes that do not answer."""

import pytest

from paceline.claims import Finished
from paceline.database import Database
from paceline.errors import InvalidInputError
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.reading import Reader
from postgres.operating.crew import Join
from support.pg import STEP, Connect, Expire, Tick, behind

ACK = "SELECT verdict, refused FROM paceline.step($1, 0, $2, $3)"
FENCE = "SELECT * FROM paceline.fence_pods($1, $2, $3)"
SUSPECTS = """
SELECT r.name, i.suspect FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner ORDER BY r.name"""
LEADER = (
    "SELECT r.name FROM paceline.leader l JOIN paceline.runner r ON r.id = l.runner WHERE l.incarnation IS NOT NULL"
)


async def test_runners_that_are_drained_finish_and_may_take_their_time(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    busy, leaving, other = await join("busy"), await join("leaving"), await join("other")
    (job,) = (await busy.step(1)).jobs
    await leaving.drain()
    assert await operating.drain_runners(group, ["leaving", "busy", "nobody"]) == ["busy"]
    beat = await busy.heartbeat()
    assert (beat.verdict, beat.leave, beat.held) == ("draining", False, 1)
    step = await busy.step(1, [Finished(job)])
    assert (step.verdict, step.jobs, step.refused) == ("draining", (), frozenset())
    assert (await other.heartbeat()).verdict == "ok"
    assert not (await join("busy")).draining, "its next pod works"


async def test_a_drain_waits_for_a_claim_in_flight(queue: Queue, group: int, join: Join, connect: Connect) -> None:
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    runner = await join()
    claiming, draining, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    await claiming.fetch(STEP, runner.id, 1)
    (row,) = await behind(claiming, watcher, draining, "SELECT paceline.drain_runners($1, '{r1}')", group)
    assert row[0] == ["r1"]
    assert not (await runner.step(1)).jobs


async def test_another_leads_when_the_leader_is_drained(
    database: Database, operating: Operating, leaders: int, join: Join
) -> None:
    await join("a", group="leaders")
    await join("b", group="leaders")
    assert await operating.drain_runners(leaders, ["a"]) == ["a"]
    assert await database.value(LEADER) == "b"


async def test_jobs_of_pods_that_are_gone_are_claimable_at_once_each_with_its_cause(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    await queue.enqueue(NewJob(kind="poison", priority=9, max_losses=0))
    one, two, other = await join("one"), await join("two"), await join("other")
    await one.step(2)
    await two.step(1)
    fenced = await operating.fence_pods(group, {"uid-two": "Evicted", "uid-one": "OOMKilled", "uid-none": "Error"})
    assert [(each.pod_uid, each.runner, each.cause, each.jobs) for each in fenced] == [
        ("uid-one", "one", "OOMKilled", 1),
        ("uid-two", "two", "Evicted", 1),
    ]
    assert ((await one.heartbeat()).cause, (await two.heartbeat()).cause) == ("OOMKilled", "Evicted")
    jobs = (await other.step(9)).jobs
    assert sorted(job.losses for job in jobs) == [0, 1, 1]
    attempts = await queue.database.rows("SELECT runner, cause FROM paceline.attempt ORDER BY job")
    assert {tuple(row) for row in attempts} == {("one", "OOMKilled"), ("two", "Evicted")}
    assert await operating.fence_pods(group, {"uid-one": "Error"}) == [], "it had ended"


async def test_pods_of_another_group_are_left_alone(operating: Operating, group: int, leaders: int, join: Join) -> None:
    theirs = await join("theirs", group="leaders")
    assert await operating.fence_pods(group, {"uid-theirs": "Error"}) == []
    assert (await theirs.heartbeat()).verdict == "ok"
    assert [each.runner for each in await operating.fence_pods(leaders, {"uid-theirs": "Error"})] == ["theirs"]


async def test_a_pod_without_a_cause_is_refused(database: Database, group: int, join: Join) -> None:
    runner = await join()
    for causes in ([], [None]):
        with pytest.raises(InvalidInputError, match="1 pods were given with 0 causes: give a cause for each pod"):
            await database.value(FENCE, group, ["uid-r1"], causes)
    assert (await runner.heartbeat()).verdict == "ok"


async def test_a_fence_waits_for_an_ack_in_flight_and_takes_nothing_back(
    queue: Queue, group: int, join: Join, connect: Connect
) -> None:
    made = await queue.enqueue("mail")
    runner = await join()
    (job,) = (await runner.step(1)).jobs
    acking, fencing, watcher = await connect(), await connect(), await connect()
    await acking.execute("BEGIN")
    await acking.fetch(ACK, runner.id, [job.id], [job.fence])
    (row,) = await behind(acking, watcher, fencing, FENCE, group, ["uid-r1"], ["Error"])
    assert tuple(row) == ("uid-r1", "r1", "Error", 0)
    assert await queue.database.value("SELECT outcome FROM paceline.history WHERE id = $1", made.id) == b"d"


async def test_an_ack_that_waited_for_a_fence_is_refused(
    queue: Queue, group: int, join: Join, connect: Connect
) -> None:
    await queue.enqueue("mail")
    runner = await join()
    (job,) = (await runner.step(1)).jobs
    fencing, acking, watcher = await connect(), await connect(), await connect()
    await fencing.execute("BEGIN")
    (row,) = await fencing.fetch(FENCE, group, ["uid-r1"], ["Error"])
    assert row["jobs"] == 1
    (row,) = await behind(fencing, watcher, acking, ACK, runner.id, [job.id], [job.fence])
    assert tuple(row) == ("fenced", [job.id])


async def test_a_fence_sees_a_claim_that_was_in_flight(queue: Queue, group: int, join: Join, connect: Connect) -> None:
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    runner = await join()
    claiming, fencing, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    await claiming.fetch(STEP, runner.id, 2)
    (row,) = await behind(claiming, watcher, fencing, FENCE, group, ["uid-r1"], ["Error"])
    assert row["jobs"] == 2
    assert await queue.database.value("SELECT count(*) FROM paceline.job WHERE state = 'r'") == 2


async def test_a_lease_that_ends_under_suspicion_has_that_cause(
    queue: Queue, operating: Operating, group: int, join: Join, expire_lease: Expire, tick: Tick
) -> None:
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    lost, late, alive = await join("lost"), await join("late"), await join("alive")
    await lost.step(1)
    await late.step(1)
    await operating.suspect_pods(group, ["uid-lost", "uid-alive"])
    assert (await alive.heartbeat()).verdict == "ok", "a suspicion ends nobody"
    for each in (lost, late):
        await expire_lease(each)
    await tick()
    attempts = await queue.database.rows("SELECT runner, cause FROM paceline.attempt ORDER BY runner")
    assert [tuple(row) for row in attempts] == [("late", "LeaseExpired"), ("lost", "NodeLost")]
    assert (await lost.heartbeat()).cause == "NodeLost"
    assert (await alive.step(0)).verdict == "ok"
    states = {each.id: each.state for each in await Reader(queue.database).list_runners("builds")}
    assert states == {"lost": "stale", "late": "stale", "alive": "active"}


async def test_a_suspicion_ends_with_the_next_one_and_touches_only_who_changes(
    database: Database, operating: Operating, group: int, leaders: int, join: Join
) -> None:
    for name in "abc":
        await join(name)
    await join("d", group="leaders")
    await operating.suspect_pods(leaders, ["uid-d"], "NodeLost")
    await operating.suspect_pods(group, ["uid-a", "uid-b", "uid-d"])
    found = [tuple(row) for row in await database.rows(SUSPECTS)]
    assert found == [("a", "NodeLost"), ("b", "NodeLost"), ("c", None), ("d", "NodeLost")]
    versions = "SELECT hostname, xmin::text FROM paceline.incarnation ORDER BY id"
    before = [tuple(row) for row in await database.rows(versions)]
    await operating.suspect_pods(group, ["uid-b"])
    after = [tuple(row) for row in await database.rows(versions)]
    assert [now[0] for was, now in zip(before, after, strict=True) if was != now] == ["host-a"]
    await operating.suspect_pods(group, [])
    found = [tuple(row) for row in await database.rows(SUSPECTS)]
    assert found == [("a", None), ("b", None), ("c", None), ("d", "NodeLost")]
