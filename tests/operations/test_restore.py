"""A database that is restored to a moment: what becomes of jobs, and of runners that have lived through it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from operations.servers import DATABASE, Machine, at, machine
from paceline import NewJob
from paceline.claims import Finished, Incarnation, Registration
from paceline.database import Database
from paceline.job import Claimed, JobId
from paceline.migrate import migrate
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.testing import PostgresServer
from postgres.cli.process import run_cli

POINT = "noon"
SINCE = 40
"""So many registrations and claims are made after the moment: of a sequence the log is up to 32 ahead."""
LONG = timedelta(hours=1)
"""A lease that is not what ends anybody here."""


class Before:
    """What there was when the server was lost, as those remember it who have lived through it."""

    survivor: Incarnation
    """Registered before the moment."""
    stranger: Incarnation
    """Registered after it."""
    early: JobId
    """Done before it."""
    held: Claimed
    """Claimed by the survivor before it, and done after it."""
    fence: int
    """The last one that was given out, to the stranger."""
    late: JobId
    """Enqueued after it."""


async def register(database: Database, name: str) -> Incarnation:
    return await Incarnation.register(database, Registration(name=name, pool="builds", kinds=("*",), lease=LONG))


async def one(runner: Incarnation) -> Claimed:
    (job,) = (await runner.step(1)).jobs
    return job


async def state(database: Database, job: JobId) -> str:
    found = await Reader(database).job_detail(job)
    return "unknown" if found is None else found.state


@pytest.fixture(scope="module")
def morning() -> Iterator[tuple[Machine, PostgresServer, Path, Before]]:
    """A morning and an afternoon on a server, which is lost: an early copy is left, and the archive."""

    async def live(server: PostgresServer) -> Before:
        async with await Database.open(at(server)) as database:
            before = await _live(database)
            await _kept(database, await database.value("SELECT pg_walfile_name(pg_switch_wal())"))
            return before

    with machine() as place, place.primary() as server:
        asyncio.run(_made(server))
        copied = place.copy(server)
        before = asyncio.run(live(server))
        server.halt()
        yield place, server, copied, before


@pytest.fixture
async def lived(
    morning: tuple[Machine, PostgresServer, Path, Before],
) -> AsyncIterator[tuple[Before, Database]]:
    """As of noon."""
    place, server, copied, before = morning
    async with await Database.open(at(place.restore(copied, server, POINT))) as database:
        yield before, database


async def _made(server: PostgresServer) -> None:
    async with await Database.open(server.url) as root:
        await root.value(f"CREATE DATABASE {DATABASE}")
    await migrate(at(server))


async def _live(database: Database) -> Before:
    before, queue = Before(), Queue(database, "builds")
    before.early = (await queue.enqueue("count")).id
    before.survivor = await register(database, "survivor")
    early = await one(before.survivor)
    before_noon = await queue.enqueue("count")
    before.held = (await before.survivor.step(1, [Finished(early)])).jobs[0]
    assert before.held.id == before_noon.id
    await queue.enqueue_many([NewJob(kind="count")] * SINCE)
    await database.value("SELECT pg_create_restore_point($1)", POINT)
    await before.survivor.step(0, [Finished(before.held)])
    for number in range(SINCE):
        before.stranger = await register(database, f"stranger-{number}")
        before.fence = (await one(before.stranger)).fence
    before.late = (await queue.enqueue("count")).id
    return before


async def _kept(database: Database, file: str) -> None:
    """Wait until the archive has that file."""
    while (await database.value("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver")) < file:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def test_without_a_word_a_number_is_two_peoples_and_a_job_is_held_for_nobody(
    lived: tuple[Before, Database],
) -> None:
    """Why `paceline database restored` is there."""
    before, database = lived
    assert await state(database, before.early) == "done"
    assert await state(database, before.late) == "unknown", "what was written after the moment is gone"
    assert (await before.survivor.over(database).heartbeat()).held == 1, "its process has finished that one"
    ids = [(await register(database, f"newcomer-{number}")).id for number in range(SINCE)]
    assert before.stranger.id in ids
    assert (await before.stranger.over(database).heartbeat()).verdict == "ok", "it renews another's lease"


async def test_after_it_nobody_is_taken_for_another_and_every_job_is_done_again(lived: tuple[Before, Database]) -> None:
    before, database = lived
    said = await run_cli(database.address.url, "database", "restored", "--yes", "--json")
    assert (said.code, said.json) == (0, {"registrations": 1, "jobs": 1}), said.err
    for old in (before.survivor, before.stranger):
        beat = await old.over(database).heartbeat()
        assert (beat.verdict, beat.held) == ("fenced", 0)
    assert (await before.survivor.over(database).heartbeat()).cause == "Restored"
    late = await before.survivor.over(database).step(1, [Finished(before.held)])
    assert (late.verdict, late.jobs) == ("fenced", ())
    assert late.refused == {before.held.id}
    newcomer = await register(database, "newcomer")
    assert newcomer.id > before.stranger.id
    jobs = [await one(newcomer) for _ in range(SINCE + 1)]
    assert min(job.fence for job in jobs) > before.fence
    (again,) = [job for job in jobs if job.id == before.held.id]
    assert (again.tries, again.losses) == (0, 0), "nothing is charged"
    assert (await Queue(database, "builds").enqueue("count")).id > before.late


async def test_it_is_the_owners_alone_and_asks_first(lived: tuple[Before, Database]) -> None:
    before, database = lived
    asked = await run_cli(database.address.url, "database", "restored")
    assert (asked.code, asked.out) == (1, "")
    assert "Nobody is there to answer: add --yes" in asked.err
    await database.value("CREATE ROLE somebody LOGIN PASSWORD 'x'")
    await database.value("SELECT paceline.grant_login('somebody', 'operator', NULL)")
    url = database.address.url.replace(database.address.url.split("//")[1].split("@")[0], "somebody:x")
    refused = await run_cli(url, "database", "restored", "--yes")
    assert refused.code == 1
    assert 'login "somebody" may not do this' in refused.err
    assert (await before.survivor.over(database).heartbeat()).verdict == "ok"
