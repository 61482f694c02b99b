"""Tables copied by several runners: no source is asked by too many, and every row arrives once, whoever dies."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

import pytest

from examples.conftest import OpenLaptop
from examples.laptop import Laptop, told
from paceline.job import NewJob
from runner.process import eventually, until

pytestmark = pytest.mark.timeout(300)
ROWS = 500
TABLES = 6
"""Three of each of two sources."""
AT_ONCE = 2
DONE = "SELECT NOT EXISTS (SELECT FROM paceline.job) AND EXISTS (SELECT FROM paceline.history)"
SLICES = """
SELECT DISTINCT landed.source, claimed_at, finished_at FROM landed JOIN paceline.history ON history.id = landed.job"""
ARRIVED = "SELECT source, name, count(*) AS rows, min(id) AS first, max(id) AS last FROM landed GROUP BY source, name"


@pytest.fixture
async def etl(laptop: OpenLaptop) -> Laptop:
    """With the tables of the page, smaller, and slices in proportion."""
    made = laptop("etl")
    made.variables = {"DEMO_ROWS": str(ROWS), "ETL_ROWS": "25"}
    await made.types("python", "demo.py")
    return made


async def all_there(etl: Laptop) -> None:
    await eventually(lambda: etl.database.value(DONE), "all slices are done")
    rows = await etl.database.rows(ARRIVED)
    assert {(row["rows"], row["first"], row["last"]) for row in rows} == {(ROWS, 1, ROWS)}
    assert len(rows) == TABLES
    assert not await etl.database.value("SELECT EXISTS (SELECT FROM paceline.dead)")


def most_at_once(spans: Iterable[tuple[datetime, datetime]]) -> int:
    """How many of them overlap; one that begins when another ends does not."""
    turns = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    found = now = 0
    for _, turn in turns:
        now += turn
        found = max(found, now)
    return found


async def test_no_source_is_asked_by_more_than_two_at_once_and_all_rows_arrive_once(etl: Laptop) -> None:
    await etl.develops()
    run = told(etl.folder, "paceline", "run")[2:]
    for name in ("second", "third"):
        await etl.runs(name, *(name if word == "second" else word for word in run))
    assert await etl.types("python", "load.py") == "6 tables are on their way\n"
    await all_there(etl)
    spans = defaultdict(list)
    for row in await etl.database.rows(SLICES):
        spans[row["source"]].append((row["claimed_at"], row["finished_at"]))
    assert {source: most_at_once(each) for source, each in spans.items()} == {"eu": AT_ONCE, "us": AT_ONCE}
    slices = await etl.database.value("SELECT count(*) FROM paceline.history")
    assert slices == TABLES * (ROWS // 25 + 1), "each slice was one job, and the last one found nothing"


async def test_a_runner_that_is_killed_in_the_middle_leaves_neither_a_gap_nor_a_double(etl: Laptop) -> None:
    first = await etl.runs("first", "--app", "jobs:jobs", "--pool", "etl")
    await etl.types("python", "load.py")
    await eventually(lambda: etl.database.value("SELECT count(*) > 50 FROM landed"), "some rows are here")
    await first.end()
    await etl.runs("first", "--app", "jobs:jobs", "--pool", "etl")  # of the same name: nobody waits for its lease
    await all_there(etl)


async def test_a_slice_that_has_landed_already_does_nothing_and_one_of_an_earlier_claim_neither(etl: Laptop) -> None:
    queue = etl.queue("etl")
    await etl.types("python", "load.py")
    await etl.develops()
    await all_there(etl)
    again = await queue.enqueue(NewJob(kind="etl.copy", payload={"source": "eu", "table": "orders", "after": 0}))
    assert (await until(queue, again.id, "done")).result == {"rows": 0}, "the position has moved on"

    await etl.database.value("UPDATE etl_position SET last_id = 0, fence = fence + 1000 WHERE name = 'orders'")
    late = await queue.enqueue(NewJob(kind="etl.copy", payload={"source": "eu", "table": "orders", "after": 0}))
    assert (await until(queue, late.id, "done")).result == {"rows": 0}, "a later claim was there"
