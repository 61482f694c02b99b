"""Small stations of the load assessment, with real runners, gateways, PgBouncer and a real database."""

import io
from collections.abc import AsyncIterator

import pytest

from paceline.testing import PostgresServer
from paceline_bench.assess import cell, fleet, load, look, station
from paceline_bench.assess.plan import Plan, Rate, Way
from paceline_bench.assess.seen import Gap, Seen
from paceline_bench.bench import Run
from paceline_bench.process import Command
from paceline_bench.templates import Templates
from paceline_dev.progress import PlainReporter

pytestmark = pytest.mark.timeout(300)  # a station takes ten seconds, on a busy machine a minute
SMALL = Plan(runners=(3,), seconds={1_200: 2, None: 2}, warm=0.5)


@pytest.fixture
async def templates(postgres: PostgresServer) -> AsyncIterator[Templates]:
    async with Templates(postgres) as made:
        yield made


async def _cells(postgres: PostgresServer, templates: Templates, way: Way, *rates: Rate) -> list[Seen | Gap]:
    run = Run(report=PlainReporter(io.StringIO()))
    return [each async for each in station._station(run, postgres, templates, SMALL, way, 3, rates)]


@pytest.mark.parametrize(
    ("way", "shared", "rates"),
    [
        ("direct", True, (1_200, None)),
        ("bounced", False, (1_200,)),
        ("gateway", False, (None,)),
        ("gateways", True, (1_200,)),
    ],
)
async def test_a_station_is_measured(
    postgres: PostgresServer,
    templates: Templates,
    monkeypatch: pytest.MonkeyPatch,
    way: Way,
    shared: bool,
    rates: tuple[Rate, ...],
) -> None:
    monkeypatch.setattr(fleet, "real", lambda _: not shared)
    monkeypatch.setattr(load, "DEPTH", 50)
    monkeypatch.setattr(cell, "PATIENCE", 300.0)
    found = await _cells(postgres, templates, way, *rates)
    cells = [each for each in found if isinstance(each, Seen)]
    assert [(each.way, each.runners, each.rate) for each in cells] == [(way, 3, rate) for rate in rates], found
    for each in cells:
        assert each.jobs > 0
        assert 0 < each.claim_p50 <= each.claim_p95 <= each.claim_p99
        assert 0 < each.write_p50 <= each.write_p99
        assert 200 < each.wal < 10**6
        assert each.connections > 0
        assert sum(count for reason, count in each.failed.items() if reason != "refused") == 0  # may cross a result
        assert each.unclaimed == (each.lost or 0) == 0
        assert each.runners_cpu > 0
        assert each.postgres_cpu > 0
        assert 0 < each.machine_cpu <= 100
        assert (each.coordinator_cpu is None) is (way == "direct")
        assert (each.empty is None) is (each.gateway_write_p95 is not None) is (each.errors == 0) is ("gateway" in way)


async def test_a_runner_that_ends_costs_the_cells_that_are_left(
    postgres: PostgresServer, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def commands(*_: object) -> list[Command]:
        return [Command(("/bin/false",))]

    monkeypatch.setattr(fleet, "_commands", commands)
    first, second = await _cells(postgres, templates, "direct", 1_200, None)
    assert isinstance(first, Gap)
    assert isinstance(second, Gap)
    assert (first.name, second.name) == ("direct, 3 runners, 1,200/min", "direct, 3 runners, flat out")
    assert "ended before" in first.reason


async def test_runners_that_are_not_there_any_more_are_not_measured(
    postgres: PostgresServer, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "real", lambda _: False)
    monkeypatch.setattr(look, "ACTIVE", "SELECT 2")
    (gap,) = await _cells(postgres, templates, "direct", 1_200)
    assert isinstance(gap, Gap)
    assert gap.reason == "2 of 3 runners were left"
