"""One conformance suite over both ways to the queue: the same questions, the same answers, the same errors."""

from datetime import UTC, datetime, timedelta

import pytest

from paceline.claims import Failed, Incarnation
from paceline.database import Database
from paceline.errors import NotEligibleError, NotFoundError
from paceline.job import JobId, NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.scaling import DecisionSeen, ScalingKept
from paceline_cli.source.port import Led, Source

Crew = tuple[Incarnation, Incarnation]


async def test_groups_and_runners_are_told_with_all_that_is_known(
    source: Source, database: Database, queue: Queue, crew: Crew
) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 3)
    await crew[0].step(2)
    (group,) = await source.snapshot()
    assert (group.namespace, group.name, group.ready, group.running, group.leader) == ("ci", "builds", 1, 2, "r1")
    assert await source.find_groups("ci/builds") == await Reader(database).find_groups("ci/builds")
    assert [each.full_name for each in await source.find_groups("builds", "main")] == ["ci/builds"]
    assert (await source.find_groups("builds", "other"), await source.find_groups("bilds")) == ([], [])
    found = {each.id: each for each in await source.list_runners()}
    known = {each.id: each for each in await Reader(database).list_runners()}
    for name, each in found.items():
        assert each.instances_claimed == (2 if name == "r1" else 0)
        assert (each.group, each.slots, each.tags, each.kinds) == ("builds", 2, ("linux",), ("mail",))
        assert each.started_at == known[name].started_at
        assert (each.runner, each.incarnation) == (known[name].runner, known[name].incarnation)
    assert await source.list_runners(group="ci/other") == []


async def test_decisions_have_their_inputs_and_their_rules(source: Source, database: Database) -> None:
    operating = Operating(database)
    group = await operating.put_group(install="main", namespace="ci", name="builds", pool="builds")
    await operating.put_scaling(group, 3)
    made = [
        DecisionSeen(
            at=datetime.now(UTC) - age, was=1, replicas=3, reason="TooManyReplicas", limited_by="maxReplicas",
            inputs={"ready": 7, "oldestSeconds": None}, proposals=[{"rule": "demand", "replicas": 7, "text": "7 jobs"}],
        )
        for age in (timedelta(minutes=2), timedelta(days=2))
    ]  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=made)])
    (newest,) = await source.list_decisions(group, since=timedelta(hours=1), most=10)
    assert newest == made[0]
    both = await source.list_decisions(group, since=timedelta(days=3), most=10)
    assert list(both) == made
    assert len(await source.list_decisions(group, since=timedelta(days=3), most=1)) == 1


async def test_a_job_is_the_same_wherever_it_is_looked_at(
    source: Source, database: Database, queue: Queue, crew: Crew
) -> None:
    made = await queue.enqueue(
        NewJob(
            kind="mail", payload={"to": "ann"}, priority=7, key="ann", tags=("linux",),
            tolerations=("gpu=bad:NoClaim",), timeout=timedelta(seconds=90),
            trace=f"00-{'a' * 32}-{'b' * 16}-01",
        )
    )  # fmt: skip
    assert await source.job_detail(made.id) == await Reader(database).job_detail(made.id)
    assert await source.list_jobs("builds") == await Reader(database).list_jobs("builds")
    (job,) = (await crew[0].step(1)).jobs
    assert await source.job_detail(made.id) == await Reader(database).job_detail(made.id)
    await crew[0].fail([Failed(job, "it broke")], "Failed")
    assert await source.job_detail(made.id) == await Reader(database).job_detail(made.id)
    assert await source.job_attempts(made.id) == await Reader(database).job_attempts(made.id)
    assert await source.job_attempts(made.id) != []
    assert await source.job_detail(JobId(999)) is None


async def test_lists_come_in_pages_of_any_size(source: Source, queue: Queue) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail")] * 620)
    ids = sorted((each.id for each in made), reverse=True)
    assert [each.id for each in await source.list_jobs("builds", limit=610)] == ids[:610]
    first = await source.list_jobs("builds", limit=10)
    rest = await source.list_jobs("builds", before=first[-1], limit=1000)
    assert [each.id for each in rest] == ids[10:]
    assert await source.list_jobs("builds", state="running") == []
    assert await source.list_jobs("builds", kind="other") == []
    with pytest.raises(NotFoundError, match='there is no pool "bilds"'):
        await source.list_jobs("bilds")


async def test_jobs_are_cancelled_and_tried_again(source: Source, queue: Queue, crew: Crew) -> None:
    first, second = [each.id for each in await queue.enqueue_many([NewJob(kind="mail")] * 2)]
    assert await source.cancel(first) == "cancelled"
    assert await source.cancel(first) == "finished"
    (job,) = (await crew[0].step(1)).jobs
    assert await source.retry(second) == "running"
    await crew[0].fail([Failed(job, "it broke")], "Failed")
    assert await source.retry(second) == "retried"
    assert (await source.cancel(JobId(999)), await source.retry(JobId(999))) == ("unknown", "unknown")


async def test_what_nobody_could_claim_is_told_with_the_reason(source: Source, queue: Queue, crew: Crew) -> None:
    await queue.enqueue(NewJob(kind="mail", tags=("gpu",)))
    (lane,) = await source.unclaimable("builds")
    assert (lane.kind, lane.tags, lane.jobs, lane.reason) == ("mail", ("gpu",), 1, "tags")
    (pool,) = await source.list_pools()
    assert (pool.name, pool.ready, pool.unclaimable) == ("builds", 1, 1)


async def test_a_leader_is_chosen(source: Source, database: Database, crew: Crew) -> None:
    assert await source.promote("r2") == Led(install="main", group="ci/builds", leader="r2", epoch=2)
    cleared = await source.clear("ci/builds", install="main")
    assert (cleared.before, cleared.leader) == ("r2", "r2"), (
        "the older one takes over when it has been there for a while"
    )
    await crew[1].taint("gpu=bad:NoLead")
    with pytest.raises(NotEligibleError, match="it has the taint gpu=bad:NoLead"):
        await source.promote("r2", group="ci/builds")
    with pytest.raises(NotFoundError, match='there is no Runner "r9"'):
        await source.promote("r9")


async def test_its_clock_is_near_the_databases(source: Source, database: Database) -> None:
    true: datetime = await database.value("SELECT clock_timestamp()")
    assert abs(await source.now() - true) < timedelta(seconds=60)
    assert source.place.startswith(("the database ", "the gateway "))
