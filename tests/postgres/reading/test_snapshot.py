"""What scaling sees: only jobs that somebody could claim drive it, and looking costs the same at every depth."""

import json
from typing import TYPE_CHECKING

import pytest

from paceline.claims import Failed, Finished
from paceline.database import Database
from paceline.errors import NotAllowedError
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import GroupSnapshot
from support.pg import Connect, Expire, Register

if TYPE_CHECKING:
    from support.pg import Login


AGE = "SELECT extract(epoch FROM clock_timestamp() - min(at))::float8 FROM paceline.sample"
APART = """
SELECT count(*) > 0 AND coalesce(min(s.gap) >= interval '1 second', true)
  FROM (SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM paceline.sample) s"""


async def put_group(database: Database, name: str = "builds", *, pool: str = "builds", tags: tuple[str, ...] = (),
                    leader: bool = False) -> int:  # fmt: skip
    group = await database.value(
        "SELECT paceline.put_group('', 'ci', $1, $2, p_tags => $3, p_leader => $4)", name, pool, list(tags), leader
    )
    return int(group)


async def taint_group(database: Database, group: int, key: str, effect: str = "NoClaim") -> None:
    await database.value("SELECT paceline.taint_group($1, 'spec', $2, '{\"\"}', $3)", group, [key], [effect])


async def only(reader: Reader, cap: int = 10_000) -> GroupSnapshot:
    (group,) = await reader.snapshot(cap)
    return group


async def test_a_group_at_zero_sees_every_state_of_its_pool(queue: Queue, reader: Reader, register: Register) -> None:
    await put_group(queue.database)
    runner = await register(group="builds", external=False)
    await queue.enqueue_many([NewJob(kind="mail", payload=n) for n in range(4)])
    one, two, _ = (await runner.step(3)).jobs
    await runner.fail([Failed(one, "no"), Failed(two, "not now")])
    await queue.database.value("SELECT paceline.enqueue('builds', '{mail,mail}', '{1,2}', p_delay => '{60,60}')")
    await queue.database.value("SELECT paceline.enqueue('builds', '{mail}', '{1}', p_key => '{k}')")
    seen = await only(reader)
    counts = (seen.ready, seen.running, seen.scheduled, seen.blocked, seen.unclaimable, seen.dead)
    assert counts == (1, 1, 2, 1, 0, 2)
    assert (seen.namespace, seen.name, seen.pool, seen.dispatch) == ("ci", "builds", "builds", "Shared")
    assert not seen.capped
    assert not seen.paused
    assert (seen.leader, seen.epoch) == (None, None)


async def test_a_count_ends_at_the_cap_and_says_so(queue: Queue, reader: Reader) -> None:
    await put_group(queue.database)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(20)])
    below, exact = await only(reader, 7), await only(reader, 20)
    assert (below.ready, below.capped) == (7, True)
    assert (exact.ready, exact.capped) == (20, False)


async def test_a_million_jobs_more_are_not_read(queue: Queue, connect: Connect) -> None:
    await put_group(queue.database)
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(30_000)])
    connection = await connect()
    await connection.execute("VACUUM ANALYZE paceline.job")
    await connection.execute("SELECT paceline.snapshot(100)")
    await connection.execute("SELECT pg_stat_force_next_flush()")
    reads = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'job_ready'"
    before = await connection.fetchval(reads)
    await connection.execute("SELECT paceline.snapshot(100)")
    await connection.execute("SELECT pg_stat_force_next_flush()")
    assert 100 <= await connection.fetchval(reads) - before < 500


async def test_the_oldest_is_the_head_of_the_lanes_that_the_group_serves(queue: Queue, reader: Reader) -> None:
    await put_group(queue.database, tags=("linux",))
    await queue.enqueue_many([
        NewJob(kind="mail", priority=9), NewJob(kind="mail", priority=1), NewJob(kind="mail", tags=("mac",)),
    ])  # fmt: skip
    await queue.database.value("UPDATE paceline.job SET ready_at = ready_at - interval '30 s' WHERE priority = 1")
    await queue.database.value(
        "UPDATE paceline.job SET ready_at = ready_at - interval '1 h'"
        " WHERE lane IN (SELECT id FROM paceline.lane WHERE tags = '{mac}')"
    )
    seen = await only(reader)
    assert seen.oldest_seconds is not None
    assert 30 <= seen.oldest_seconds < 90
    assert (seen.ready, seen.unclaimable) == (2, 1)


async def test_an_empty_group_has_no_oldest_job(queue: Queue, reader: Reader) -> None:
    await put_group(queue.database)
    seen = await only(reader)
    assert (seen.ready, seen.oldest_seconds, seen.service_seconds, seen.arrival_rate) == (0, None, None, None)


async def test_jobs_whose_tags_the_group_lacks_are_unclaimable_until_a_live_runner_has_them(
    queue: Queue, reader: Reader, register: Register
) -> None:
    await put_group(queue.database, tags=("linux",))
    await queue.enqueue_many([NewJob(kind="mail", tags=("linux",)), NewJob(kind="mail", tags=("linux", "gpu"))])
    seen = await only(reader)
    assert (seen.ready, seen.unclaimable) == (1, 1)
    (lane,) = await reader.unclaimable("builds")
    assert (lane.reason, lane.tags, lane.jobs) == ("tags", ("gpu", "linux"), 1)
    assert lane.detail == "it needs the tags gpu and linux; runners with a handler for it have linux"
    await register("laptop", group="builds", tags=("linux", "gpu"))
    seen = await only(reader)
    assert (seen.ready, seen.unclaimable) == (2, 0)
    assert await reader.unclaimable("builds") == []


async def test_a_group_without_tags_is_no_word_in_the_reason(queue: Queue, reader: Reader) -> None:
    await put_group(queue.database, tags=("linux",))
    await put_group(queue.database, name="plain")
    await queue.enqueue(NewJob(kind="mail", tags=("gpu",)))
    (lane,) = await reader.unclaimable("builds")
    assert lane.detail == "it needs the tag gpu; runners with a handler for it have linux"


async def test_kinds_that_the_revision_registered_are_remembered_while_the_group_is_at_zero(
    queue: Queue, reader: Reader, register: Register, expire_lease: Expire
) -> None:
    group = await put_group(queue.database)
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="video")])
    assert (await only(reader)).ready == 2, "nobody has registered yet: every kind may be served"
    runner = await register(group="builds", external=False, kinds=("mail",))
    await expire_lease(runner)
    seen = await only(reader)
    assert (seen.ready, seen.unclaimable) == (1, 1)
    (lane,) = await reader.unclaimable("builds")
    assert (lane.kind, lane.reason) == ("video", "kind")
    assert lane.detail == 'no runner of pool "builds" has a handler for kind "video"'
    await reader.set_revision(group, "next")
    assert (await only(reader)).ready == 2, "nobody of the new revision has registered yet"


async def test_an_old_revision_that_registers_again_does_not_become_the_current_one(
    queue: Queue, reader: Reader, database: Database
) -> None:
    group = await put_group(queue.database)
    await queue.enqueue("video")
    register = """SELECT paceline.register($1, 'builds', $2, p_namespace => 'ci', p_group => 'builds',
                                           p_external => false, p_revision => $3, p_lease => 0)"""
    await database.value(register, "r1", ["mail"], "1")
    await database.value(register, "r2", ["video"], "2")
    await database.value(register, "r1", ["mail"], "1")
    assert (await only(reader)).ready == 1
    await reader.set_revision(group, "1")
    assert (await only(reader)).ready == 0, "a rollback to what is known is believed at once"


async def test_a_taint_of_the_group_counts_and_one_of_a_runner_does_not(
    queue: Queue, reader: Reader, register: Register
) -> None:
    group = await put_group(queue.database)
    runner = await register(group="builds", external=False)
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail", tolerations=("gpu",))])
    await queue.database.value("SELECT paceline.taint_runner($1, 'cli', '{gpu}', '{\"\"}', '{NoClaim}')", runner.runner)
    assert (await only(reader)).ready == 2
    await taint_group(queue.database, group, "gpu")
    seen = await only(reader)
    assert (seen.ready, seen.unclaimable) == (1, 1)
    (lane,) = await reader.unclaimable("builds")
    assert (lane.reason, lane.detail) == ("taints", "it does not tolerate gpu:NoClaim")


async def test_a_drained_group_serves_nothing_whatever_is_tolerated(queue: Queue, reader: Reader) -> None:
    group = await put_group(queue.database)
    await queue.enqueue(NewJob(kind="mail", tolerations=("*",)))
    await taint_group(queue.database, group, "maint", "Drain")
    seen = await only(reader)
    assert (seen.ready, seen.unclaimable) == (0, 1)


async def test_a_runner_outside_the_cluster_is_free_of_the_groups_taints(
    queue: Queue, reader: Reader, register: Register
) -> None:
    group = await put_group(queue.database)
    await taint_group(queue.database, group, "gpu")
    await queue.enqueue("mail")
    assert (await only(reader)).ready == 0
    await register("laptop", group="builds", external=True)
    assert (await only(reader)).ready == 1


async def test_two_shared_groups_both_report_what_both_could_serve(queue: Queue, reader: Reader) -> None:
    await put_group(queue.database, "big", tags=("linux", "gpu"))
    await put_group(queue.database, "small", tags=("linux",))
    await queue.enqueue_many([NewJob(kind="mail", tags=("linux",)), NewJob(kind="mail", tags=("gpu",))])
    seen = {group.name: (group.ready, group.unclaimable) for group in await reader.snapshot()}
    assert seen == {"big": (2, 0), "small": (1, 0)}


async def test_the_leader_and_its_epoch_are_told(queue: Queue, reader: Reader, register: Register) -> None:
    await put_group(queue.database, leader=True)
    assert (await only(reader)).leader is None
    await register("first", group="builds", external=False)
    seen = await only(reader)
    assert (seen.dispatch, seen.leader, seen.epoch) == ("Leader", "first", 1)


async def test_a_leader_group_whose_runners_may_not_lead_serves_nothing(queue: Queue, reader: Reader) -> None:
    group = await put_group(queue.database, leader=True)
    await queue.enqueue("mail")
    assert (await only(reader)).ready == 1
    await taint_group(queue.database, group, "maint", "NoLead")
    assert (await only(reader)).ready == 0


async def test_service_time_is_the_mean_of_what_was_finished(
    queue: Queue, reader: Reader, register: Register, database: Database
) -> None:
    await put_group(queue.database)
    runner = await register(group="builds", external=False)
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    jobs = (await runner.step(2)).jobs
    await database.value("UPDATE paceline.job SET claimed_at = claimed_at - interval '400 s' WHERE id = $1", jobs[0].id)
    await runner.step(0, [Finished(job) for job in jobs])
    assert (await only(reader)).service_seconds == pytest.approx(200, abs=50)


async def test_the_arrival_rate_is_what_was_finished_and_what_the_backlog_grew_by(
    queue: Queue, reader: Reader, register: Register, database: Database
) -> None:
    await put_group(queue.database)
    runner = await register(group="builds", external=False)
    assert (await only(reader)).arrival_rate is None
    await database.value("UPDATE paceline.sample SET at = at - interval '20 s'")
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(10)])
    await runner.step(0, [Finished(job) for job in (await runner.step(6)).jobs])
    await runner.step(2)
    least = await database.value(AGE)
    rate = (await only(reader)).arrival_rate
    assert rate is not None
    assert 10 / await database.value(AGE) <= rate <= 10 / least


async def test_samples_are_kept_once_a_second_and_for_an_hour(queue: Queue, reader: Reader, database: Database) -> None:
    await put_group(queue.database)
    for _ in range(3):
        await reader.snapshot()
    assert await database.value(APART) is True
    await database.value("UPDATE paceline.sample SET at = at - interval '61 min'")
    await reader.snapshot()
    assert await database.value("SELECT max(age(clock_timestamp(), at)) < interval '1 min' FROM paceline.sample")


async def test_a_transaction_that_only_reads_may_ask(queue: Queue, connect: Connect) -> None:
    await put_group(queue.database)
    connection = await connect()
    async with connection.transaction(readonly=True):
        assert await connection.fetchval("SELECT name FROM paceline.snapshot()") == "builds"


async def test_a_login_sees_the_groups_of_its_own_pools(queue: Queue, login: "Login") -> None:
    await put_group(queue.database, "ours", pool="ours")
    await put_group(queue.database, "theirs", pool="theirs")
    assert [group.name for group in await Reader(await login("operator", "ours")).snapshot()] == ["ours"]
    assert len(await Reader(await login("gateway")).snapshot()) == 2
    for role in ("reader", "producer", "runner", None):
        with pytest.raises(NotAllowedError, match="may not do this"):
            await Reader(await login(role)).snapshot()


async def test_only_an_operator_says_what_the_next_revision_is(queue: Queue, login: "Login") -> None:
    group = await put_group(queue.database)
    with pytest.raises(NotAllowedError, match='pool "builds"'):
        await Reader(await login("gateway")).set_revision(group, "2")
    await Reader(await login("operator", "builds")).set_revision(group, "2")
    assert json.loads(await queue.database.value("SELECT json_agg(revision) FROM paceline.group_kinds")) == ["2"]
