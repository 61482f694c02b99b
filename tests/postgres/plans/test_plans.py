"""Every hot call touches only the rows that it needs, whatever else is there: 100,000 jobs and a week of what is over.

The limits are data, beside each call, and close: a lost index, or a condition that an index cannot answer, is red.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from paceline.testing import PostgresServer
from postgres.plans.counted import touched
from postgres.plans.hot import Hot
from postgres.plans.reads import READS
from postgres.plans.seed import seed
from postgres.plans.ticks import TICKS
from postgres.plans.writes import WRITES
from support.shared import shared

pytestmark = pytest.mark.timeout(300)
CALLS = (*WRITES, *TICKS, *READS)


@pytest.fixture(scope="session")
def seeded(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database that is made once for each server; whoever uses it changes nothing."""

    def make(_: int) -> tuple[object, dict[str, str]]:
        return None, {"name": asyncio.run(postgres.template(f"seeded_{secrets.token_hex(4)}", seed))}

    parts = urlsplit(postgres.url)
    return urlunsplit(parts._replace(path=f"/{shared(tmp_path_factory, f'seeded-{parts.port}', make)['name']}"))


@pytest.fixture
async def connection(seeded: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """A transaction that is undone at the end; one at a time, or one would wait for what another has locked."""
    opened = await asyncpg.connect(seeded)
    undone = opened.transaction()
    await undone.start()
    await opened.execute("SELECT pg_advisory_xact_lock(1)")
    yield opened
    await undone.rollback()
    await opened.close()


@pytest.mark.parametrize("hot", CALLS, ids=[hot.name for hot in CALLS])
async def test_a_hot_call_touches_what_it_needs(connection: "asyncpg.Connection[asyncpg.Record]", hot: Hot) -> None:
    found = await touched(connection, hot)
    assert not found.beyond(hot), f"{hot.name} ({hot.why}) touches too much: {'; '.join(found.beyond(hot))}"


async def test_the_seed_is_as_large_as_it_says(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    assert await connection.fetchval("SELECT count(*) FROM paceline.job") >= 100_000
    assert await connection.fetchval("SELECT count(*) FROM paceline.history") == 100_000
    days = "SELECT count(*) AS rows FROM paceline.history GROUP BY tableoid"
    assert [each["rows"] // 1000 for each in await connection.fetch(days)] == [16] * 6
    states = "SELECT array_agg(DISTINCT state::text ORDER BY state::text) FROM paceline.job"
    assert await connection.fetchval(states) == ["b", "r", "s", "x"]


Plan = dict[str, Any]


async def plan_of(connection: "asyncpg.Connection[asyncpg.Record]", function: str) -> list[Plan]:
    """The nodes of the last statement of a function; rows that it made itself are counted nowhere."""
    body = await connection.fetchval("SELECT prosrc FROM pg_proc WHERE oid = $1::text::regproc", f"paceline.{function}")
    last = body.rpartition(";")[2]
    (found,) = json.loads(await connection.fetchval(f"EXPLAIN (FORMAT JSON) {last}"))
    return list(nodes(found["Plan"]))


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


async def test_runners_are_counted_once_for_all_pools(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    found = await plan_of(connection, "count_runners")
    assert any(each.get("Alias") == "i" for each in found), "the living are counted"
    assert not [each for each in found if each.get("Parent Relationship") == "SubPlan"], "nothing is done pool by pool"


async def test_lists_of_lanes_are_told_apart_before_they_are_taken_apart(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    """As many lists as sorts of runners, and not as many as runners."""
    found = await plan_of(connection, "review_lanes")
    (apart,) = [each for each in found if each["Node Type"] == "ProjectSet"]
    assert [each["CTE Name"] for each in nodes(apart) if each["Node Type"] == "CTE Scan"] == ["lists"]
    (lists,) = [each for each in found if each.get("Subplan Name") == "CTE lists"]
    assert lists["Node Type"] in ("Aggregate", "Unique")
