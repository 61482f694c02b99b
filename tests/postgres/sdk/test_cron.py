"""Cron on a real database: each tick once, whoever asks, and nothing is lost or made up."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from paceline.cron import Cron, CronEntry, Fired
from paceline.database import Database
from paceline.errors import DatabaseError, InvalidInputError, NotAllowedError, NotFoundError, PoolFullError
from paceline.job import NewJob
from support.pg import Connect, Login

NEW_YEAR = "0 0 1 1 *"  # no test runs into the next tick
YEARLY = CronEntry(name="report", schedule=NEW_YEAR, job=NewJob(kind="report", payload={"of": "mail"}))
FAR = timedelta(days=366)
FIRE = "SELECT * FROM paceline.fire_cron($1, $2, $3, $4)"


@pytest.fixture
def cron(database: Database) -> Cron:
    return Cron(database, "builds")


async def overdue(database: Database, *, years: int = 0, name: str = "report") -> datetime:
    """As if nobody had looked for so many years: the entry is due since an earlier tick."""
    due: datetime = await database.value(
        "UPDATE paceline.cron SET next_at = (date_trunc('year', clock_timestamp() AT TIME ZONE 'UTC')"
        " - make_interval(years => $1)) AT TIME ZONE 'UTC' WHERE name = $2 RETURNING next_at",
        years,
        name,
    )
    return due


async def made(database: Database) -> list[object]:
    return [json.loads(row["payload"]) for row in await database.rows("SELECT payload FROM paceline.job ORDER BY id")]


async def test_what_is_not_due_does_not_fire(cron: Cron, database: Database) -> None:
    next_at = await cron.put(YEARLY)
    assert next_at > await database.value("SELECT clock_timestamp()")
    assert await Cron.fire_due(database) == ()
    assert await made(database) == []


async def test_callers_at_the_same_time_fire_each_tick_once(cron: Cron, database: Database) -> None:
    for number in range(10):
        await cron.put(CronEntry(name=f"n{number}", schedule=NEW_YEAR, job=NewJob(kind="report", payload=number)))
        await overdue(database, name=f"n{number}")
    fired = [each for some in await asyncio.gather(*[Cron.fire_due(database) for _ in range(8)]) for each in some]
    assert sorted(each.name for each in fired) == [f"n{number}" for number in range(10)]
    assert all(each.job and each.job.created and each.error is None for each in fired)
    assert sorted(map(str, await made(database))) == sorted(map(str, range(10)))


async def test_of_two_who_saw_the_same_tick_the_second_gets_nothing(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    due_at = await overdue(database)
    (entry,) = await database.rows("SELECT * FROM paceline.cron_due()")
    assert entry["due_at"] == due_at
    ask = (entry["id"], due_at, due_at + FAR, due_at)
    assert len(await database.rows(FIRE, *ask)) == 1
    assert await database.rows(FIRE, *ask) == []
    assert len(await made(database)) == 1


@pytest.mark.parametrize(("end", "left"), [("COMMIT", 0), ("ROLLBACK", 1)])
async def test_nobody_waits_for_one_who_is_firing(
    cron: Cron, database: Database, connect: Connect, end: str, left: int
) -> None:
    await cron.put(YEARLY)
    due_at = await overdue(database)
    first = await connect()
    await first.execute("BEGIN")
    (entry,) = await first.fetch("SELECT * FROM paceline.cron_due()")
    assert len(await first.fetch(FIRE, entry["id"], due_at, due_at + FAR, due_at)) == 1
    assert await asyncio.wait_for(Cron.fire_due(database), 50) == ()
    await first.execute(end)
    assert len(await Cron.fire_due(database)) == left
    assert len(await made(database)) == 1


@pytest.mark.parametrize("role", ["runner", "gateway", "operator"])
async def test_a_login_that_serves_the_pool_fires_whether_it_may_enqueue_or_not(
    cron: Cron, database: Database, login: Login, role: str
) -> None:
    await cron.put(YEARLY)
    await overdue(database)
    server = await login(role, "builds")
    (fired,) = await Cron.fire_due(server)
    assert (fired.pool, fired.name, fired.error) == ("builds", "report", None)
    assert await made(database) == [{"of": "mail"}]


async def test_firing_gives_a_runner_no_right_to_enqueue(cron: Cron, login: Login) -> None:
    await cron.put(YEARLY)
    runner = await login("runner", "builds")
    with pytest.raises(NotAllowedError, match="--as producer"):
        await runner.rows("SELECT * FROM paceline.enqueue('builds', '{x}', '{null}')")
    with pytest.raises(DatabaseError, match="permission denied for function insert_jobs"):
        await runner.rows("SELECT * FROM paceline.insert_jobs(1, '{x}', '{null}')")


@pytest.mark.parametrize(("role", "pool"), [("runner", "other"), ("reader", "builds"), ("producer", "builds")])
async def test_a_login_that_does_not_serve_the_pool_neither_sees_nor_fires(
    cron: Cron, database: Database, login: Login, role: str, pool: str
) -> None:
    await cron.put(YEARLY)
    due_at = await overdue(database)
    (entry,) = await database.rows("SELECT * FROM paceline.cron_due()")
    stranger = await login(role, pool)
    assert await Cron.fire_due(stranger) == ()
    with pytest.raises(NotAllowedError):
        await stranger.rows(FIRE, entry["id"], due_at, due_at + FAR, due_at)
    assert await made(database) == []


async def test_a_login_of_another_pool_can_neither_read_nor_change_entries(cron: Cron, login: Login) -> None:
    await cron.put(YEARLY)
    theirs = Cron(await login("producer", "other"), "builds")
    for call in (
        theirs.list,
        lambda: theirs.delete("report"),
        lambda: theirs.pause("report"),
        lambda: theirs.put(YEARLY),
    ):
        with pytest.raises(NotAllowedError):
            await call()
    assert [entry.name for entry in await cron.list()] == ["report"]


async def test_after_downtime_the_latest_missed_tick_fires_once(cron: Cron, database: Database) -> None:
    await cron.put(CronEntry(name="report", schedule=NEW_YEAR, job=YEARLY.job, stamp="year"))
    due_at = await overdue(database, years=5)
    latest = due_at.replace(year=due_at.year + 5)
    (fired,) = await Cron.fire_due(database)
    assert fired.tick_at == latest
    assert await Cron.fire_due(database) == ()
    assert await made(database) == [{"of": "mail", "year": latest.astimezone(UTC).strftime("%Y-01-01T00:00:00Z")}]
    (entry,) = await cron.list()
    assert (entry.last_at, entry.next_at) == (latest, latest.replace(year=latest.year + 1))


async def test_the_moment_of_the_tick_is_in_the_payload_only_where_it_is_asked_for(
    cron: Cron, database: Database, migrated: str
) -> None:
    await cron.put(CronEntry(name="report", schedule=NEW_YEAR, job=NewJob(kind="report"), stamp="year"))
    await cron.put(CronEntry(name="plain", schedule=NEW_YEAR, job=NewJob(kind="plain")))
    due_at = await overdue(database)
    await overdue(database, name="plain")
    async with await Database.open(f"{migrated}?timezone=Asia/Tokyo") as elsewhere:
        await Cron.fire_due(elsewhere)
    payloads = await made(database)
    assert None in payloads
    assert {"year": due_at.astimezone(UTC).strftime("%Y-01-01T00:00:00Z")} in payloads


@pytest.mark.parametrize(("overlap", "jobs"), [("skip", 1), ("allow", 2)])
async def test_overlap_says_whether_a_tick_waits_for_the_one_before(
    cron: Cron, database: Database, overlap: str, jobs: int
) -> None:
    await cron.put(CronEntry(name="report", schedule=NEW_YEAR, job=YEARLY.job, overlap=overlap))  # type: ignore[arg-type]
    fired: list[Fired] = []
    for _ in range(2):
        await overdue(database)
        fired += await Cron.fire_due(database)
    assert [each.job.created for each in fired if each.job] == [True, overlap == "allow"]
    assert len(await made(database)) == jobs


async def test_with_skip_the_next_tick_fires_when_the_job_is_over(cron: Cron, database: Database) -> None:
    await cron.put(CronEntry(name="report", schedule=NEW_YEAR, job=YEARLY.job, overlap="skip"))
    await overdue(database)
    (first,) = await Cron.fire_due(database)
    assert first.job is not None
    assert await database.value("SELECT paceline.cancel($1)", first.job.id) == "cancelled"
    await overdue(database)
    (second,) = await Cron.fire_due(database)
    assert second.job is not None
    assert second.job.created


async def test_all_that_a_job_says_reaches_the_job(cron: Cron, database: Database) -> None:
    job = NewJob(
        kind="report", payload=["ü", None], priority=8, delay=timedelta(hours=1), expires_in=timedelta(hours=2),
        key="k", key_limit=3, dedupe="d", tags=("b", "a"), tolerations=("gpu",), max_tries=7, max_losses=1,
        timeout=timedelta(seconds=9),
    )  # fmt: skip
    await cron.put(CronEntry(name="report", schedule=NEW_YEAR, job=job))
    await overdue(database)
    (fired,) = await Cron.fire_due(database)
    assert fired.error is None
    (row,) = await database.rows(
        "SELECT j.*, k.name AS key_name, k.max_running, l.tags, l.tolerations, j.run_at - j.enqueued_at AS delay,"
        " j.expires_at - j.enqueued_at AS ttl FROM paceline.job j"
        " JOIN paceline.key k ON k.id = j.key JOIN paceline.lane l ON l.id = j.lane"
    )
    assert json.loads(row["payload"]) == ["ü", None]
    assert (row["priority"], row["delay"], row["ttl"]) == (8, timedelta(hours=1), timedelta(hours=2))
    assert (row["key_name"], row["max_running"], row["dedupe"]) == ("k", 3, "d")
    assert (row["tags"], row["tolerations"]) == (["a", "b"], ["gpu"])
    assert (row["max_tries"], row["max_losses"], row["timeout_ms"], row["trace"]) == (7, 1, 9000, None)


async def test_putting_the_same_entry_again_loses_no_tick_that_is_due(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    due_at = await overdue(database)
    changed = CronEntry(name="report", schedule=NEW_YEAR, job=NewJob(kind="report", payload="new"))
    assert await cron.put(changed) == due_at
    await Cron.fire_due(database)
    assert await made(database) == ["new"]


async def test_another_schedule_begins_with_its_own_next_tick(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    await overdue(database)
    moved = CronEntry(name="report", schedule=NEW_YEAR, timezone="Europe/Berlin", job=YEARLY.job)
    assert await cron.put(moved) > await database.value("SELECT clock_timestamp()")
    assert await Cron.fire_due(database) == ()


async def test_a_pause_lasts_and_what_passes_meanwhile_is_not_made_up_for(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    await cron.pause("report")
    await overdue(database)
    await cron.put(YEARLY)
    assert (await cron.list())[0].paused
    assert await Cron.fire_due(database) == ()
    await cron.pause("report", paused=False)
    assert await Cron.fire_due(database) == ()
    (entry,) = await cron.list()
    assert not entry.paused
    assert entry.next_at > await database.value("SELECT clock_timestamp()")


async def test_a_tick_that_is_due_survives_a_resume_without_a_pause(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    await overdue(database)
    await cron.pause("report", paused=False)
    assert len(await Cron.fire_due(database)) == 1


async def test_a_full_pool_is_told_and_the_entry_fires_when_there_is_room(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    await Cron(database, "other").put(CronEntry(name="report", schedule=NEW_YEAR, job=NewJob(kind="other")))
    await overdue(database)
    await database.value("SELECT paceline.set_pool('builds', p_max_depth => 0)")
    refused, fired = sorted(await Cron.fire_due(database), key=lambda each: each.pool)
    assert isinstance(refused.error, PoolFullError)
    assert (fired.pool, fired.error) == ("other", None)
    await database.value("SELECT paceline.set_pool('builds', p_max_depth => 10)")
    (late,) = await Cron.fire_due(database)
    assert (late.pool, late.error) == ("builds", None)


async def test_nobody_fires_ahead_of_time_or_stands_still(cron: Cron, database: Database) -> None:
    next_at = await cron.put(YEARLY)
    number = await database.value("SELECT id FROM paceline.cron")
    with pytest.raises(InvalidInputError, match="cannot fire"):
        await database.rows(FIRE, number, next_at, next_at + FAR, next_at)
    due_at = await overdue(database)
    with pytest.raises(InvalidInputError, match="the next one is later"):
        await database.rows(FIRE, number, due_at, due_at, due_at)
    assert await made(database) == []


async def test_an_entry_that_is_not_there(cron: Cron, database: Database) -> None:
    await cron.put(YEARLY)
    assert await cron.delete("report") is True
    assert await cron.delete("report") is False
    with pytest.raises(NotFoundError, match='pool "builds" has no cron entry "report"'):
        await cron.pause("report")
    assert await database.rows(FIRE, 1, datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC), None) == []


async def test_half_an_entry_is_refused_by_the_database_too(database: Database) -> None:
    put = "SELECT paceline.put_cron('builds', $1, '* * * * *', 'UTC', $2::jsonb, clock_timestamp())"
    for name, job in (("", '{"kind": "x"}'), ("a", "{}"), ("a", "[]"), ("a", "null")):
        with pytest.raises(InvalidInputError, match="a cron entry needs a name"):
            await database.value(put, name, job)
    assert await database.value("SELECT count(*) FROM paceline.cron") == 0
