"""How pools stand now and stood a minute ago; who tainted a Runner; and what has ended."""

from datetime import timedelta

import pytest

from paceline.claims import Finished
from paceline.database import Database
from paceline.errors import NotAllowedError
from paceline.job import JobId, NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.scaling import DecisionSeen, ScalingKept
from paceline.standing import list_standing
from paceline.taint import Taint
from paceline.tainting import list_taints, set_taints
from support.pg import Login, Register, Tick

AGO = "UPDATE paceline.pool_sample SET taken_at = taken_at - interval '60 seconds'"


async def test_a_pool_stands_as_it_is_and_beside_how_it_stood(queue: Queue, register: Register, tick: Tick) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    await tick()
    await queue.database.value(AGO)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(4)])
    runner = await register()
    await runner.step(2)
    (pool,) = await list_standing(queue.database)
    assert (pool.name, pool.ready, pool.running, pool.busy, pool.idle, pool.slots) == ("builds", 5, 2, 1, 0, 1)
    assert (pool.ready_before, pool.paused, pool.leader, pool.groups) == (3, None, None, ("builds",))
    assert pool.oldest_seconds is not None
    assert pool.done_rate == 0
    assert not pool.capped
    (capped,) = await list_standing(queue.database, cap=4)
    assert (capped.ready, capped.capped) == (4, True)


async def test_it_knows_who_leads_who_rests_and_what_was_decided(queue: Queue, register: Register) -> None:
    operating = Operating(queue.database)
    group = await operating.put_group(install="", namespace="ci", name="g", pool="builds", leader=True)
    await register("r1", group="g", external=False)
    await operating.put_scaling(group, 1)
    now = await queue.database.value("SELECT clock_timestamp()")
    decided = [
        DecisionSeen(at=now - timedelta(minutes=n), was=1, replicas=n, reason=f"R{n}", limited_by=None, inputs={},
                     proposals=())
        for n in (9, 4)
    ]  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=decided)])
    (pool,) = await list_standing(queue.database)
    assert (pool.dispatch, pool.leader, pool.groups) == ("Leader", "r1", ("ci/g",))
    assert (pool.desired, pool.reason, pool.pending) == (4, "R4", 3)
    await queue.pause()
    assert (await list_standing(queue.database))[0].paused == "pool"
    await queue.resume()
    await queue.database.value("UPDATE paceline.runner_group SET paused = true")
    assert (await list_standing(queue.database))[0].paused == "groups"


async def test_each_login_sees_its_own_pools(
    database: Database, queue: Queue, login: Login, register: Register
) -> None:
    await queue.enqueue("mail")
    await Queue(database, "other").enqueue("mail")
    reader, nobody = await login("reader", "builds"), await login()
    assert [pool.name for pool in await list_standing(reader)] == ["builds"]
    with pytest.raises(NotAllowedError):
        await list_standing(nobody)
    hidden, shown = await register("r1", pool="other"), await register("r2")
    for runner in (hidden, shown):
        await runner.taint("gpu:NoClaim")
    assert await list_taints(reader, hidden.runner) == []
    assert [str(each) for each in await list_taints(reader, shown.runner)] == ["gpu:NoClaim"]
    with pytest.raises(NotAllowedError):
        await set_taints(reader, shown.runner, "api", [])


async def test_taints_are_told_by_their_source(queue: Queue, register: Register) -> None:
    operating = Operating(queue.database)
    group = await operating.put_group(install="", namespace="ci", name="g", pool="builds")
    inside, outside = [await register(name, group="g", external=name == "out") for name in ("in", "out")]
    await operating.taint_group(group, "annotation", [Taint("slow", "", "PreferNoClaim")])
    for runner in (inside, outside):
        await set_taints(queue.database, runner.runner, "api", [Taint("gpu", "bad", "NoClaim")])
    assert [(each.source, str(each)) for each in await list_taints(queue.database, inside.runner)] == [
        ("api", "gpu=bad:NoClaim"), ("group", "slow:PreferNoClaim")
    ]  # fmt: skip
    assert [each.source for each in await list_taints(queue.database, outside.runner)] == ["api"]


async def test_what_has_ended_is_listed_by_pool_and_kind(
    database: Database, queue: Queue, login: Login, register: Register
) -> None:
    other = Queue(database, "other")
    ids = [(await queue.enqueue(NewJob(kind=kind))).id for kind in ("mail", "mail", "build")]
    foreign = (await other.enqueue("mail")).id
    for pool in ("builds", "other"):
        runner = await register(f"r-{pool}", pool=pool)
        await runner.step(0, [Finished(job) for job in (await runner.step(9)).jobs])
    cancelled = (await queue.enqueue("mail")).id
    await queue.cancel(cancelled)
    reader = Reader(database)
    assert [each.id for each in await reader.list_finished("builds")] == [cancelled, *reversed(ids)]
    assert [each.id for each in await reader.list_finished("builds", kind="build")] == [ids[2]]
    assert [each.id for each in await reader.list_finished("builds", before=JobId(ids[1]))] == [ids[0]]
    assert [each.id for each in await reader.list_finished(limit=2)] == [cancelled, foreign]
    states = {each.id: (each.state, each.runner) for each in await reader.list_finished()}
    assert (states[cancelled], states[foreign]) == (("cancelled", None), ("done", "r-other"))
    scoped = Reader(await login("reader", "builds"))
    assert foreign not in [each.id for each in await scoped.list_finished()]
    with pytest.raises(NotAllowedError):
        await scoped.list_finished("other")
