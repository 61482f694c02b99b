"""The measurements themselves, small, on a real database; a script stands in for the runner."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.line import Line
from paceline.testing import PostgresServer
from paceline_bench import idle, life, paceline_command
from paceline_bench.deaf import deaf
from paceline_bench.errors import NotMeasuredError
from paceline_bench.life import Lives
from paceline_bench.paceline_command import RunnerCommand
from paceline_bench.process import Command, worker
from paceline_bench.server import connected
from paceline_bench.subjects import Subject, empty
from paceline_bench.systems import System, paceline, raw
from paceline_bench.templates import Templates

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in.py")))
JOBS = 8000


@pytest.fixture
async def templates(postgres: PostgresServer) -> AsyncIterator[Templates]:
    async with Templates(postgres) as made:
        yield made


@pytest.fixture
def lives(postgres: PostgresServer, templates: Templates, monkeypatch: pytest.MonkeyPatch) -> Lives:
    monkeypatch.setattr(life, "IDLE_SECONDS", 0.1)
    return Lives(postgres, templates, life.Size(boots=1, drains=1, starts_listen=3, starts_poll=1), STAND_IN)


@pytest.mark.parametrize(
    ("system", "module", "which"),
    [
        (raw.SYSTEM, "raw", ["slim"]),
        (replace(paceline.SYSTEM, done=None), "raw", ["own"]),
        (paceline.SYSTEM, "sdk", []),
    ],
)
async def test_a_worker_empties_its_queue_and_its_rate_is_seen_from_outside(
    postgres: PostgresServer, templates: Templates, system: System, module: str, which: list[str]
) -> None:
    subject = Subject(name=module, system=system, command=lambda url: worker(module, url, *which, 10, 2))
    template = await templates.full(system, JOBS)
    first = await empty(subject, postgres, template, JOBS, within=80)
    assert 100 < first.rate < 1_000_000
    again = await empty(subject, postgres, template, JOBS, within=80)
    assert again.rate > 100  # the template is as full as before


async def test_jobs_that_vanish_without_being_done_are_no_result(
    postgres: PostgresServer, templates: Templates
) -> None:
    lazy = replace(raw.SYSTEM, name="lazy", done="SELECT 7")
    subject = Subject(name="lazy", system=lazy, command=lambda url: worker("raw", url, "slim", 10, 2))
    with pytest.raises(NotMeasuredError, match=f"7 of {JOBS} jobs were done well"):
        await empty(subject, postgres, await templates.full(lazy, JOBS), JOBS, within=80)


@pytest.mark.parametrize(
    ("code", "within", "reason"),
    [("raise SystemExit('no such thing')", 30, "ended before"), ("import time; time.sleep(60)", 0.2, "in time")],
)
async def test_a_process_that_ends_or_does_nothing_is_not_measured(
    postgres: PostgresServer,
    templates: Templates,
    capsys: pytest.CaptureFixture[str],
    code: str,
    within: float,
    reason: str,
) -> None:
    subject = Subject(name="x", system=raw.SYSTEM, command=lambda _: Command((sys.executable, "-c", code)))
    with pytest.raises(NotMeasuredError, match=reason):
        await empty(subject, postgres, await templates.full(raw.SYSTEM, 10), 10, within=within)
    assert ("no such thing" in capsys.readouterr().err) is (within == 30)


async def test_the_life_of_a_runner_is_measured(lives: Lives) -> None:
    (boot,) = await lives.boot()
    assert (boot.name, boot.unit) == ("exec_to_first_claim", "s")
    assert 0.01 < boot.value < 20
    own, whole = await lives.memory()
    assert 5 < own.value <= whole.value < 500
    (left,) = await lives.leave()
    assert 0 < left.value < 20_000
    started = await lives.start("start_listen", listen=True)
    assert [each.name for each in started] == ["start_listen"] * 3
    assert all(0 < each.value < 20_000 for each in started)


async def test_a_version_without_the_command_is_not_measured(postgres: PostgresServer, templates: Templates) -> None:
    lives = Lives(postgres, templates, life.QUICK, (sys.executable, "-c", "raise SystemExit(2)"))
    with pytest.raises(NotMeasuredError, match='no command "paceline run"'):
        await lives.boot()
    with pytest.raises(NotMeasuredError, match="not installed"):
        paceline_command.require(("paceline-that-is-not-there",))


async def test_idle_runners_are_registered_and_go_on(postgres: PostgresServer, templates: Templates) -> None:
    async with (
        postgres.database(await templates.full(paceline.SYSTEM, 0)) as url,
        idle.idle_runners(url, 5) as runners,
        connected(url) as connection,
    ):
        await asyncio.sleep(1.5)
        assert [runner for runner in runners if runner.done()] == []
        assert await connection.fetchval("SELECT count(*) FROM paceline.incarnation WHERE state = 'a'") == 5


async def test_what_a_database_does_is_counted(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(empty_database) as watching, connected(empty_database) as busy:
        real, clock, began = asyncio.sleep, asyncio.get_running_loop().time, 0.0

        async def it_works(seconds: float) -> None:
            nonlocal began
            if seconds != 1.25:
                return await real(seconds)
            began = clock()
            for _ in range(200):
                await busy.fetchval("SELECT 1")
            await busy.fetchval("SELECT pg_stat_force_next_flush()")
            await busy.fetchval("SELECT 1")
            return await real(seconds)

        monkeypatch.setattr("paceline_bench.idle.asyncio.sleep", it_works)
        rate = await idle.transactions_per_second(watching, 1.25)
        assert 150 < rate * (clock() - began) < 260


def test_the_command_says_pool_size_and_port_and_hides_the_password() -> None:
    url = "postgresql://me:secret@127.0.0.1:5432/jobs"
    command = RunnerCommand(port=8123, slots=400, batch=50, dispatchers=4).on(url)
    assert "secret" not in " ".join(command.arguments)
    assert command.environment["PACELINE_DATABASE_URL"] == url
    assert command.environment["PACELINE_POOL"] == "bench"
    assert command.environment["PACELINE_SLOTS"] == "400"
    assert command.environment["PACELINE_BATCH_SIZE"] == "50"
    assert command.environment["PACELINE_LISTEN"] == "127.0.0.1:8123"


async def test_a_deaf_way_to_the_database_answers_and_hears_nothing(empty_database: str) -> None:
    async with deaf(empty_database) as url:
        line = await Line.open(url)
        try:
            assert await line.value("SELECT repeat('x', 200000)") == "x" * 200_000
            assert not await line.listen("news", lambda: None)
            assert await line.value("SELECT 1") == 1
        finally:
            line.close()
