"""One conformance suite over both ways to the queue: the same questions, the same answers, the same errors."""

from datetime import UTC, datetime, timedelta

import pytest

from gateway.plugin.conftest import Crew
from paceline.claims import Failed
from paceline.cron import Cron, CronEntry
from paceline.database import Database
from paceline.errors import NotEligibleError, NotFoundError
from paceline.job import JobId, NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.scaling import DecisionSeen, ScalingKept
from paceline.seen import PoolSeen
from paceline.tokens import NewToken, Tokens
from paceline_cli.source.port import Led, Source


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


async def test_dead_letters_are_listed_put_back_and_deleted(
    source: Source, database: Database, queue: Queue, crew: Crew
) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail", payload={"n": n}, key=str(n)) for n in range(3)])
    for _ in made:
        await crew[0].fail([Failed(job, "it broke") for job in (await crew[0].step(1)).jobs])
    first, second, third = [each.id for each in made]
    found = await source.dead_letters("builds")
    assert list(found) == list(await Reader(database).list_dead("builds"))
    assert [each.id for each in found] == [third, second, first]
    assert [each.id for each in await source.dead_letters("builds", limit=2)] == [third, second]
    assert [each.id for each in await source.dead_letters(since=found[1].died_at)] == [third, second]
    assert [each.id for each in await source.dead_letters(until=found[2].died_at)] == [first]
    assert await source.dead_letters("builds", kind="other") == await source.dead_letters(cause="Poison") == []
    assert await source.redrive([first, JobId(999)]) == [first]
    assert await source.purge([second, first]) == [second]
    assert [each.id for each in await source.dead_letters("builds")] == [third]


async def test_dead_letters_come_in_pages_of_any_size(source: Source, database: Database, queue: Queue) -> None:
    made = [each.id for each in await queue.enqueue_many([NewJob(kind="mail")] * 1100)]
    await database.value("SELECT paceline.bury($1, 'Failed', 'it broke', 1, 0)", made)
    assert {each.id for each in await source.dead_letters("builds", limit=1050)} < set(made)
    assert {each.id for each in await source.dead_letters("builds", limit=10**9)} == set(made)


ENTRY = CronEntry(
    name="reports/daily:eu.west", schedule="30 2 * * *", timezone="Europe/Berlin", overlap="skip", stamp="tick",
    job=NewJob(
        kind="report", payload={"size": 3}, priority=7, delay=timedelta(seconds=1.5), expires_in=timedelta(hours=1),
        key="report", key_limit=2, tags=("gpu", "linux"), tolerations=("gpu=bad:NoClaim", "spot"), max_tries=2,
        max_losses=1, timeout=timedelta(seconds=90.25),
    ),
)  # fmt: skip


async def test_cron_entries_are_put_listed_paused_and_deleted(source: Source, database: Database, queue: Queue) -> None:
    plain = CronEntry(name="hourly", schedule="0 * * * *", job=NewJob(kind="mail", dedupe="one"))
    for entry in (plain, ENTRY):
        next_at = await source.put_cron("builds", entry)
        assert next_at == {each.name: each.next_at for each in await Cron(database, "builds").list()}[entry.name]
    assert tuple(await source.list_cron("builds")) == await Cron(database, "builds").list()
    await source.pause_cron("builds", ENTRY.name, True)
    assert [each.paused for each in await source.list_cron("builds")] == [False, True]
    await source.pause_cron("builds", ENTRY.name, False)
    assert [each.paused for each in await source.list_cron("builds")] == [False, False]
    with pytest.raises(NotFoundError, match='has no cron entry "none"'):
        await source.pause_cron("builds", "none", True)
    assert (await source.delete_cron("builds", ENTRY.name), await source.delete_cron("builds", "none")) == (True, False)
    assert [each.name for each in await source.list_cron("builds")] == ["hourly"]


async def test_pools_are_limited_and_paused(source: Source, database: Database, queue: Queue) -> None:
    async def seen() -> PoolSeen:
        assert await source.list_pools() == await Reader(database).list_pools()
        (found,) = await source.list_pools()
        return found

    await source.set_pool("builds", max_depth=5, rate=0.5, burst=2)
    assert ((await seen()).max_depth, (await seen()).rate, (await seen()).burst) == (5, 0.5, 2)
    await source.set_pool("builds", rate=-1)
    assert ((await seen()).max_depth, (await seen()).rate) == (5, None)
    await source.set_pool("builds", max_depth=-1)
    assert (await seen()).max_depth is None
    await source.set_kind("builds", "a/../b", 5, 20)
    assert await database.value("SELECT (name, rate, burst)::text FROM paceline.kind") == "(a/../b,5,20)"
    await source.set_kind("builds", "a/../b", -1, None)
    assert await database.value("SELECT (rate, burst)::text FROM paceline.kind") == "(,)"
    await source.set_key("builds", "../ann?x=%2F", 3, 2, None)
    assert await database.value("SELECT (name, max_running, rate)::text FROM paceline.key") == "(../ann?x=%2F,3,2)"
    await source.pause_pool("builds", True)
    assert (await seen()).paused is True
    await source.pause_pool("builds", False)
    assert (await seen()).paused is False


async def test_a_pool_says_whose_it_is(source: Source, crew: Crew) -> None:
    (pool,) = await source.list_pools()
    assert (pool.install, pool.namespace) == ("main", "ci")


async def test_how_well_the_database_is_is_told(source: Source, database: Database) -> None:
    found, known = await source.health(), await Reader(database).health()
    assert (found.holders, found.history_late, found.last_vacuum) == (known.holders, known.history_late, None)
    assert abs(found.partition_days - known.partition_days) < 1


async def test_tokens_are_made_listed_and_revoked(source: Source, database: Database, queue: Queue) -> None:
    await database.value("SELECT paceline.put_group('main', 'ci', 'builds', 'fast')")
    new = NewToken(
        kind="rk", group="builds", namespace="ci", install="main", runner="laptop", note="for ann",
        expires=timedelta(hours=1),
    )  # fmt: skip
    made = [await source.create_token(each) for each in (new, NewToken(kind="ak", pool="builds", read_only=True))]
    assert list(await source.list_tokens()) == await Tokens(database).list()
    looking, runner = [each for each in await source.list_tokens() if each.id in {one.split("_")[1] for one in made}]
    assert (runner.namespace, runner.group, runner.runner, runner.note) == ("ci", "builds", "laptop", "for ann")
    assert runner.expires_at is not None
    assert (looking.pool, looking.read_only, looking.expires_at) == ("builds", True, None)
    assert (await source.revoke_token(runner.id), await source.revoke_token(runner.id)) == (True, False)
    with pytest.raises(NotFoundError, match="there is no token"):
        await source.revoke_token("0" * 12)
    with pytest.raises(NotFoundError, match="there is no RunnerGroup ci/none"):
        await source.create_token(NewToken(kind="rk", group="none", namespace="ci", runner="laptop"))
