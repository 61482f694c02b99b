"""Lists for people: newest first, page by page, and nothing of another's pool."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from paceline.claims import Failed, Finished, Incarnation
from paceline.database import Database
from paceline.errors import InvalidInputError, NotAllowedError, NotFoundError
from paceline.job import JobId, NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from support.pg import Expire, Register, Tick

if TYPE_CHECKING:
    from support.pg import Login


async def test_live_jobs_come_newest_first_page_by_page_each_once(queue: Queue, reader: Reader) -> None:
    jobs = [NewJob(kind="mail", delay=timedelta(hours=1) if n % 3 == 0 else None, priority=n % 10) for n in range(25)]
    made = [each.id for each in await queue.enqueue_many(jobs)]
    seen, before = [], None
    while page := await reader.list_jobs("builds", before=before, limit=10):
        seen += [job.id for job in page]
        before = page[-1]
    assert seen == sorted(made, reverse=True)


async def test_live_jobs_are_chosen_by_state_and_kind(queue: Queue, reader: Reader, register: Register) -> None:
    runner = await register(kinds=("video",))
    await queue.enqueue_many([
        NewJob(kind="video"), NewJob(kind="mail"), NewJob(kind="mail", delay=timedelta(hours=1)),
        NewJob(kind="held", key="one"), NewJob(kind="held", key="one"),
        NewJob(kind="photo", dedupe="d", tags=("gpu",), tolerations=("spot",)),
    ])  # fmt: skip
    await runner.step(1)
    found = {
        state: [job.kind for job in await reader.list_jobs("builds", state=state)]
        for state in ("scheduled", "blocked", "ready", "running")
    }
    assert found == {
        "scheduled": ["mail"],
        "blocked": ["held"],
        "ready": ["photo", "held", "mail"],
        "running": ["video"],
    }
    (running,) = await reader.list_jobs(state="running")
    assert (running.runner, running.state, running.key) == ("r1", "running", None)
    (photo,) = await reader.list_jobs(kind="photo")
    assert (photo.dedupe, photo.tags, photo.tolerations) == ("d", ("gpu",), ("spot",))
    assert {job.key for job in await reader.list_jobs(state="blocked")} == {"one"}
    with pytest.raises(InvalidInputError, match='state "done" is not one of a live job'):
        await reader.list_jobs(state="done")  # type: ignore[arg-type]


async def test_a_job_is_found_wherever_it_is(
    queue: Queue, reader: Reader, register: Register, database: Database, tick: Tick
) -> None:
    runner = await register()
    ids = {kind: (await queue.enqueue(kind, {"n": kind})).id for kind in ("done", "dead", "running")}
    jobs = {job.kind: job for job in (await runner.step(3)).jobs}
    ids |= {kind: (await queue.enqueue(kind)).id for kind in ("ready", "cancelled", "expired", "late")}
    ids["scheduled"] = (await queue.enqueue(NewJob(kind="scheduled", delay=timedelta(hours=1)))).id
    await queue.enqueue(NewJob(kind="mail", key="k", priority=9))
    ids["blocked"] = (await queue.enqueue(NewJob(kind="blocked", key="k"))).id
    await runner.step(0, [Finished(jobs["done"], '{"sum": 3}')])
    await runner.fail([Failed(jobs["dead"], "broken")])
    await queue.cancel(ids["cancelled"])
    await database.value("UPDATE paceline.job SET expires_at = clock_timestamp() WHERE id = $1", ids["expired"])
    await tick()
    await database.value("UPDATE paceline.tick SET history_until = '-infinity'")
    await queue.cancel(ids["late"])
    found = {kind: detail for kind, job in ids.items() if (detail := await reader.job_detail(job))}
    states = {kind: detail.state for kind, detail in found.items()}
    assert states == {kind: kind for kind in ids} | {"late": "cancelled"}
    assert (found["done"].result, found["done"].runner, found["done"].fence) == ({"sum": 3}, "r1", jobs["done"].fence)
    assert (found["dead"].cause, found["dead"].error, found["dead"].runner) == ("Failed", "broken", "r1")
    assert found["running"].payload == {"n": "running"}
    assert found["done"].finished_at is not None
    assert found["done"].claimed_at is not None
    assert await database.value("SELECT count(*) FROM paceline.history_late") == 1
    assert await reader.job_detail(JobId(10**9)) is None


async def test_progress_and_a_wish_to_cancel_are_shown(queue: Queue, reader: Reader, register: Register) -> None:
    job = (await queue.enqueue("mail")).id
    await (await register()).step(1)
    await queue.database.value("UPDATE paceline.job SET progress = '{\"percent\": 40}' WHERE id = $1", job)
    assert await queue.cancel(job) == "cancelling"
    detail = await reader.job_detail(job)
    assert detail is not None
    assert (detail.progress, detail.cancelling) == ({"percent": 40}, True)


async def test_attempts_come_newest_first_with_what_they_left(
    queue: Queue, reader: Reader, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    job = (await queue.enqueue("mail")).id
    first, second = await register("first"), await register("second")
    await first.fail([Failed(each, "no", timedelta(0), "boom") for each in (await first.step(1)).jobs])
    await tick()
    assert len((await second.step(1)).jobs) == 1
    await expire_lease(second)
    await tick()
    attempts = await reader.job_attempts(job)
    assert [(each.outcome, each.runner, each.cause) for each in attempts] == [
        ("lost", "second", "LeaseExpired"),
        ("failed", "first", "Failed"),
    ]
    assert (attempts[1].error, attempts[1].output) == ("no", "boom")


Bury = Callable[..., Awaitable[list[JobId]]]


@pytest.fixture
def bury(database: Database, register: Register) -> Bury:
    """Dead letters of a pool."""

    async def make(kinds: list[str], *, pool: str = "builds", cause: str = "Failed") -> list[JobId]:
        made = await Queue(database, pool).enqueue_many([NewJob(kind=kind) for kind in kinds])
        runner: Incarnation = await register(f"digger-{pool}", pool=pool)
        await runner.fail([Failed(job, "no") for job in (await runner.step(len(kinds))).jobs], cause)
        return [each.id for each in made]

    return make


async def test_the_latest_death_comes_first_page_by_page_also_at_one_moment(
    bury: Bury, reader: Reader, database: Database
) -> None:
    made = await bury(["mail", "video"] * 6)
    await database.value("UPDATE paceline.dead SET died_at = date_trunc('hour', died_at) WHERE id = ANY ($1)", made[:7])
    seen, before = [], None
    while page := await reader.list_dead("builds", before=before, limit=5):
        seen += page
        before = page[-1]
    assert sorted(each.id for each in seen) == made
    assert seen == sorted(seen, key=lambda each: (each.died_at, each.id), reverse=True)
    with pytest.raises(InvalidInputError, match="without p_until"):
        await database.value("SELECT paceline.list_dead('builds', p_before => 3)")


async def test_dead_letters_are_chosen_by_kind_cause_and_time(bury: Bury, reader: Reader, database: Database) -> None:
    await bury(["mail", "video"])
    (late,) = await bury(["mail"], cause="TimedOut")
    await database.value("UPDATE paceline.dead SET died_at = died_at + interval '1 day' WHERE id = $1", late)
    assert [each.kind for each in await reader.list_dead(kind="video")] == ["video"]
    assert [each.id for each in await reader.list_dead(cause="TimedOut")] == [late]
    (newest, *older) = await reader.list_dead()
    assert [each.id for each in await reader.list_dead(since=newest.died_at)] == [late]
    assert await reader.list_dead(until=newest.died_at - timedelta(hours=1)) == older


async def test_runners_are_listed_as_nodes(
    queue: Queue, reader: Reader, register: Register, database: Database, expire_lease: Expire, tick: Tick
) -> None:
    group = await database.value("SELECT paceline.put_group('', 'ci', 'builds', 'builds', p_leader => true)")
    first = await register("first", group="builds", external=False)
    second = await register("second", group="builds", external=False)
    lost, gone = await register("lost", group="builds"), await register("gone", group="builds")
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail")])
    assert len((await first.step(2)).jobs) == 2
    await second.drain()
    await database.value("SELECT paceline.taint_group($1, 'spec', '{gpu}', '{bad}', '{PreferNoClaim}')", group)
    await expire_lease(lost)
    await gone.deregister()
    for _ in range(2):  # before and after the lease's end was noticed
        nodes = {node.id: node for node in await reader.list_runners("builds")}
        assert {name: (node.state, node.instances_claimed, node.leader) for name, node in nodes.items()} == {
            "first": ("active", 2, True),
            "second": ("draining", 0, False),
            "lost": ("stale", 0, False),
        }
        await tick()
    assert (nodes["first"].taints, nodes["lost"].taints) == (("gpu=bad:PreferNoClaim",), ())
    assert (nodes["first"].namespace, nodes["first"].group, nodes["first"].pool) == ("ci", "builds", "builds")
    assert nodes["first"].last_heartbeat >= nodes["first"].started_at
    assert len(await reader.list_runners(group="ci/builds")) == 3
    assert await reader.list_runners(group="other") == []


async def test_a_runner_that_came_back_is_listed_once(
    reader: Reader, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    await expire_lease(await register("r1"))
    await tick()
    await register("r1")
    assert [node.state for node in await reader.list_runners()] == ["active"]


async def test_pools_are_listed_with_their_depth(queue: Queue, reader: Reader, bury: Bury) -> None:
    await bury(["mail"])
    await Queue(queue.database, "other").enqueue_many([NewJob(kind="mail", delay=timedelta(hours=1))] * 3)
    await queue.enqueue_many([NewJob(kind="mail")] * 4)
    await queue.pause()
    pools = {pool.name: pool for pool in await reader.list_pools(3)}
    assert set(pools) == {"builds", "other"}
    builds, other = pools["builds"], pools["other"]
    assert (builds.paused, builds.ready, builds.capped, builds.dead, builds.runners) == (True, 3, True, 1, 1)
    assert (other.paused, other.scheduled, other.capped, other.unclaimable) == (False, 3, False, 0)


@pytest.mark.parametrize("role", ["reader", "producer", "gateway", "operator"])
async def test_a_login_of_one_pool_sees_nothing_of_another(
    role: str, queue: Queue, login: "Login", bury: Bury, register: Register
) -> None:
    ours, theirs = await bury(["ours"], pool="ours"), await bury(["theirs"], pool="theirs")
    for pool in ("ours", "theirs"):
        await Queue(queue.database, pool).enqueue("mail")
    live = (await Queue(queue.database, "theirs").enqueue("mail")).id
    reader = Reader(await login(role, "ours"))
    assert {job.pool for job in await reader.list_jobs()} == {"ours"}
    assert [each.id for each in await reader.list_dead()] == ours
    assert [pool.name for pool in await reader.list_pools()] == ["ours"]
    assert {node.pool for node in await reader.list_runners()} == {"ours"}
    assert {each.pool for each in await reader.unclaimable()} <= {"ours"}
    for job in (*theirs, live):
        assert await reader.job_detail(job) is None
        assert await reader.job_attempts(job) == []
    assert len(await reader.job_attempts(ours[0])) == 1
    for asked in (reader.list_jobs, reader.list_dead, reader.list_runners, reader.unclaimable):
        for pool in ("theirs", "no-such-pool"):  # what is another's cannot be told from what is not there
            with pytest.raises(NotAllowedError, match=f'may not do this on pool "{pool}"'):
                await asked(pool)


async def test_without_a_grant_for_reading_nothing_is_shown(queue: Queue, login: "Login") -> None:
    await queue.enqueue("mail")
    for role in ("runner", None):
        reader = Reader(await login(role, "builds" if role else None))
        for asked in (reader.list_jobs, reader.list_dead, reader.list_runners, reader.list_pools, reader.unclaimable):
            with pytest.raises(NotAllowedError):
                await asked()
        with pytest.raises(NotAllowedError):
            await reader.job_detail(JobId(1))


async def test_who_may_see_all_is_told_that_a_pool_is_not_there(reader: Reader) -> None:
    with pytest.raises(NotFoundError, match='there is no pool "buidls"'):
        await reader.list_jobs("buidls")


async def test_tables_and_helpers_are_closed_to_logins(queue: Queue, login: "Login") -> None:
    opened = await login("operator")
    closed = await queue.database.rows(
        """SELECT p.oid::regprocedure::text AS name FROM pg_proc p
            WHERE p.pronamespace = 'paceline'::regnamespace AND has_function_privilege($1, p.oid, 'EXECUTE')
              AND NOT (p.prosecdef AND p.proconfig @> '{"search_path=pg_catalog, pg_temp"}')""",
        await opened.value("SELECT session_user"),
    )
    assert closed == []
    for table in ("sample", "group_kinds", "job"):
        assert not await opened.value(f"SELECT has_table_privilege('paceline.{table}', 'SELECT')")
