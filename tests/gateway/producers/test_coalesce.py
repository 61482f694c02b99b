"""Enqueues that come together are one transaction, and nobody hears of what is wrong with another's job."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone

import asyncpg
import pytest

from paceline.database import Database
from paceline.errors import DatabaseError, InvalidInputError, PoolFullError
from paceline.job import Enqueued, NewJob
from paceline_gateway.coalesce import LARGE, Coalescer
from paceline_gateway.metrics import Metrics
from paceline_gateway.together import LARGEST, Together

MAIL = NewJob(kind="mail")
UNSTORABLE = NewJob(kind="mail", run_at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=23))))
"""Fine until it is to be written: in UTC it would be before the first year."""
END_THOSE_WHO_WAIT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE wait_event_type = 'Lock' AND datname = current_database()"""


class Puts:
    """A coalescer, and how it went about it."""

    def __init__(self, database: Database) -> None:
        self.metrics = Metrics()
        self.coalescer = Coalescer(database, self.metrics)

    @property
    def statements(self) -> float:
        name, labels = "paceline_db_write_seconds_count", {"call": "enqueue"}
        return self.metrics.registry.get_sample_value(name, labels) or 0


@pytest.fixture
def puts(database: Database) -> Puts:
    return Puts(database)


@asynccontextmanager
async def held_up(url: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """Nobody can write a job until the end of the block."""
    holder = await asyncpg.connect(url)
    try:
        await holder.execute("BEGIN")
        await holder.execute("LOCK TABLE paceline.job IN EXCLUSIVE MODE")
        yield holder
    finally:
        await holder.close()


async def started(
    puts: Puts, jobs: Sequence[NewJob], pool: str = "builds", wait: timedelta | None = None
) -> "list[asyncio.Task[Enqueued]]":
    """The first waits for the database, and then the others wait for the first."""
    tasks: list[asyncio.Task[Enqueued]] = []
    for some in (jobs[:1], jobs[1:]):
        tasks += [asyncio.create_task(puts.coalescer.enqueue(pool, job, wait)) for job in some]
        for _ in range(5):
            await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    return tasks


async def transactions(database: Database) -> int:
    return int(await database.value("SELECT count(DISTINCT xmin::text) FROM paceline.job"))


@pytest.mark.parametrize("wait", [None, timedelta(minutes=1)], ids=["producers", "callers"])
async def test_the_first_goes_at_once_and_those_behind_it_together(
    puts: Puts, database: Database, migrated: str, wait: timedelta | None
) -> None:
    async with held_up(migrated):
        jobs = [NewJob(kind="mail", payload=number) for number in range(20)]
        tasks = await started(puts, jobs, wait=wait)
    made = await asyncio.gather(*tasks)
    assert await transactions(database) == 2
    found = {row["id"]: row["payload"] for row in await database.rows("SELECT id, payload FROM paceline.job")}
    assert [int(found[each.id]) for each in made] == list(range(20))
    assert await database.value("SELECT count(*) FROM paceline.call") == (0 if wait is None else 20)
    assert await database.value("SELECT count(*) FROM paceline.job WHERE awaited") == (0 if wait is None else 20)


async def test_each_pool_goes_its_own_way(puts: Puts, database: Database, migrated: str) -> None:
    async with held_up(migrated):
        tasks = [task for pool in ("builds", "shop") for task in await started(puts, [MAIL] * 2, pool)]
    await asyncio.gather(*tasks)
    rows = await database.rows(
        "SELECT p.name FROM paceline.job j JOIN paceline.lane l ON l.id = j.lane JOIN paceline.pool p ON p.id = l.pool"
    )
    assert sorted(row["name"] for row in rows) == ["builds", "builds", "shop", "shop"]


async def test_a_bad_one_fails_alone(puts: Puts, database: Database, migrated: str) -> None:
    async with held_up(migrated):
        tasks = await started(puts, [MAIL, MAIL, UNSTORABLE, MAIL])
    one, two, bad, three = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(bad, InvalidInputError)
    assert all(isinstance(each, Enqueued) for each in (one, two, three))
    assert await database.value("SELECT count(*) FROM paceline.job") == 3


async def test_a_bad_one_among_many_is_found_with_few_statements(puts: Puts, database: Database, migrated: str) -> None:
    async with held_up(migrated):
        tasks = await started(puts, [*[MAIL] * 100, UNSTORABLE, *[MAIL] * 100])
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [place for place, each in enumerate(answers) if not isinstance(each, Enqueued)] == [100]
    made = [each.id for each in answers if isinstance(each, Enqueued)]
    assert (len(set(made)), made) == (200, sorted(made))
    assert puts.statements <= 2 + 2 * 8


async def test_a_full_pool_takes_what_fits_and_is_not_asked_for_each_of_the_others(
    puts: Puts, database: Database, migrated: str
) -> None:
    await database.value("SELECT paceline.set_pool('builds', p_max_depth => 3)")
    async with held_up(migrated):
        tasks = await started(puts, [MAIL] * 20)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in answers] == [Enqueued] * 3 + [PoolFullError] * 17
    # the first, the others, the halves 9 and 4 of them, two that fit, and the next two and one of them, which do not
    assert puts.statements == 7


async def test_what_may_have_been_written_is_not_tried_again(puts: Puts, database: Database, migrated: str) -> None:
    async with held_up(migrated):
        tasks = await started(puts, [MAIL] * 4)
        while not all(task.done() for task in tasks):
            await database.rows(END_THOSE_WHO_WAIT)
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in answers] == [DatabaseError] * 4
    assert puts.statements == 2
    assert await database.value("SELECT count(*) FROM paceline.job") == 0


async def test_a_large_one_goes_alone(puts: Puts, database: Database, migrated: str) -> None:
    large = NewJob(kind="mail", payload="x" * LARGE)
    async with held_up(migrated):
        tasks = await started(puts, [MAIL, MAIL, large, large])
    await asyncio.gather(*tasks)
    assert await transactions(database) == 4


async def test_nothing_stays_of_pools_that_were_asked_for_once(puts: Puts) -> None:
    for number in range(5):
        await puts.coalescer.enqueue(f"pool{number}", MAIL)
    assert not puts.coalescer._under_way


async def test_a_batch_has_an_end() -> None:
    sent: list[int] = []
    free = asyncio.Event()

    async def send(items: Sequence[int]) -> list[str]:
        await free.wait()
        sent.append(len(items))
        return [str(each) for each in items]

    together = Together[int, str](send)
    tasks = [asyncio.create_task(together.do(number)) for number in range(LARGEST + 2)]
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(*tasks)
    assert sent == [LARGEST, 2]


async def test_one_who_goes_does_not_disturb_the_others() -> None:
    free = asyncio.Event()

    async def send(items: Sequence[int]) -> list[str]:
        await free.wait()
        return [str(each) for each in items]

    together = Together[int, str](send)
    first, second, third = [asyncio.create_task(together.do(number)) for number in range(3)]
    await asyncio.sleep(0)
    second.cancel()
    free.set()
    assert (await first, await third) == ("0", "2")


async def test_what_was_given_up_while_it_waited_is_not_done() -> None:
    """Its caller has been told that it took too long, and would ask for it once more."""
    free, sent = asyncio.Event(), list[int]()

    async def send(items: Sequence[int]) -> list[str]:
        await free.wait()
        sent.extend(items)
        return [str(each) for each in items]

    together = Together[int, str](send)
    first = asyncio.create_task(together.do(0))
    for _ in range(3):
        await asyncio.sleep(0)
    second, third = [asyncio.create_task(together.do(number)) for number in (1, 2)]
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    free.set()
    assert (await first, await third, sent) == ("0", "2", [0, 2])
