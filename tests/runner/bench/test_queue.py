"""The measurements of the queue themselves, small, on a real database, for Paceline alone."""

import io
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.process import worker
from paceline_bench.queue import contents, depth, enqueuing, horizon, keyed, latency
from paceline_bench.server import connected
from paceline_bench.subjects import Subject, empty
from paceline_bench.systems import System, paceline, raw
from paceline_bench.templates import Templates
from paceline_dev.progress import PlainReporter

SMALL = latency.Size(million=300, many=200, blocked=60, rounds=2, warm=1)
STATES = "SELECT state::text, count(*) FROM paceline.job GROUP BY state"


@pytest.fixture
async def templates(postgres: PostgresServer) -> AsyncIterator[Templates]:
    async with Templates(postgres) as made:
        yield made


def _run() -> Run:
    return Run(report=PlainReporter(io.StringIO()))


async def _states(url: str) -> dict[str, int]:
    async with connected(url) as connection:
        return {row[0]: row[1] for row in await connection.fetch(STATES)}


async def test_copies_of_a_job_are_jobs_of_their_own(empty_database: str) -> None:
    await contents.fill(empty_database, paceline.SYSTEM, ready=6_000, future=40)
    assert await _states(empty_database) == {"r": 1 + 6_000 + 1, "s": 40}
    async with paceline.claimer(empty_database, 50) as claimer:
        assert await claimer.claim() == 50
        await claimer.finish()


async def test_claims_are_timed_in_every_content(postgres: PostgresServer) -> None:
    cases = latency.own_cases(SMALL)
    found = await latency.measure(_run(), postgres, cases, SMALL)
    assert {each.name for each in found} == {each.name for each in cases}
    assert len(found) == SMALL.rounds * len(cases)
    assert all(each.value > 0 for each in found)


async def test_blocked_jobs_are_blocked_and_lanes_are_lanes(empty_database: str) -> None:
    (blocked,) = [each for each in latency.own_cases(SMALL) if each.name == "claim_20k_blocked"]
    await blocked.fill(empty_database)
    assert await _states(empty_database) == {"b": SMALL.blocked - 1, "x": 1, "r": latency.READY}
    async with contents.laned(empty_database, "noop", lanes=7) as produce:
        await produce(20)
    async with connected(empty_database) as connection:
        assert await connection.fetchval("SELECT count(*) FROM paceline.kind WHERE name LIKE 'kind-%'") == 7


async def test_a_worker_that_ran_out_of_jobs_is_no_result_under_a_held_snapshot(
    postgres: PostgresServer, templates: Templates
) -> None:
    few, many = [await templates.full(paceline.SYSTEM, jobs) for jobs in (1_000, 20_000)]
    case = horizon.Case("unmarked", paceline.SYSTEM, "sdk", held=True, before=horizon.NO_MARKS)
    counts = await horizon.work(postgres, many, replace(case, batch=1), seconds=0.3)
    assert 0 < counts[0][1] < counts[-1][1] < 20_000
    with pytest.raises(NotMeasuredError, match="ran out of jobs"):
        await horizon.work(postgres, few, case, seconds=3)


async def test_a_key_holds_while_its_throughput_is_measured(postgres: PostgresServer, templates: Templates) -> None:
    size = keyed.Size(jobs=3_000, jobs_procrastinate=0, rounds=1)
    found = await keyed.measure(_run(), postgres, templates, keyed.own(size), 1)
    assert [each.name for each in found] == [name for name in keyed.NAMES if "p" not in name]
    assert all(each.value > 10 for each in found)


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("system", [raw.SYSTEM, paceline.SYSTEM], ids=lambda each: each.name)
async def test_enqueued_jobs_are_counted_before_a_rate_is_believed(
    postgres: PostgresServer, templates: Templates, system: System, batch: int
) -> None:
    template = await templates.full(system, 0)
    assert await enqueuing.enqueue(system, postgres, template, batch, 300) > 10
    with pytest.raises(NotMeasuredError, match="enqueued 5300 of 300 jobs"):
        await enqueuing.enqueue(system, postgres, await templates.full(system, 5000), batch, 300 - batch)


async def test_every_pool_is_seen_by_one_question(empty_database: str) -> None:
    await paceline.install(empty_database)
    await depth.fill_pools(empty_database, 4)
    async with paceline.depth(empty_database) as question:
        groups = await question()
    assert isinstance(groups, list)
    assert [each.ready for each in groups] == [depth.JOBS] * 4
    assert len(await depth.ask("depth_200_pools", empty_database, paceline.depth, 3)) == 3


async def test_two_processes_share_a_queue_and_its_costs_are_counted(
    postgres: PostgresServer, templates: Templates
) -> None:
    two = " + (SELECT 2 - count(*) FROM paceline.runner)"
    system = replace(paceline.SYSTEM, done=f"{paceline.SYSTEM.done}{two}")
    subject = Subject(name="sdk", system=system, processes=2, command=lambda url: worker("sdk", url, 100, 2))
    emptied = await empty(subject, postgres, await templates.full(paceline.SYSTEM, 20_000), 20_000, within=120)
    assert emptied.rate > 100
    assert 100 < emptied.wal < 20_000
    assert 1 / 200 < emptied.commits < 1
