"""`paceline migrate`: idempotent, and a dry run writes nothing."""

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from paceline.migrate import migrations
from postgres.cli.process import Ran, run_cli

Migrate = Callable[..., Awaitable[Ran]]
NAMES = [f"{each.version:04}_{each.name}" for each in migrations()]
NEWEST = migrations()[-1].version


@pytest.fixture
def migrate(empty_database: str) -> Migrate:
    async def run(*words: str) -> Ran:
        return await run_cli(empty_database, "migrate", *words)

    return run


async def _versions(url: str) -> list[int] | None:
    connection = await asyncpg.connect(url)
    try:
        if await connection.fetchval("SELECT to_regnamespace('paceline')") is None:
            return None
        return [row[0] for row in await connection.fetch("SELECT version FROM paceline.migration ORDER BY 1")]
    finally:
        await connection.close()


async def test_it_says_what_was_applied_and_a_second_time_that_nothing_was(migrate: Migrate) -> None:
    first = await migrate()
    assert first.code == 0
    assert f"applied {', '.join(NAMES)} to 127.0.0.1" in first.out
    second = await migrate()
    assert second.code == 0
    assert f"lacks nothing up to schema version {NEWEST}" in second.out
    assert (await migrate("--json")).json == {"applied": [], "version": NEWEST}


async def test_a_dry_run_prints_sql_that_works_and_writes_nothing(migrate: Migrate, empty_database: str) -> None:
    dry = await migrate("--dry-run")
    assert dry.code == 0
    assert "nothing was written" in dry.err
    assert await _versions(empty_database) is None
    connection = await asyncpg.connect(empty_database)
    await connection.execute(dry.out)
    assert await connection.fetchval("SELECT count(*) FROM paceline.migration") == 0
    await connection.close()


async def test_a_dry_run_shows_only_what_is_missing(migrate: Migrate, empty_database: str) -> None:
    done = await migrate("--to", "1")
    assert done.code == 0
    dry = (await migrate("--dry-run", "--json")).fields
    assert dry["bootstrap"] is None
    pending = dry["pending"]
    assert isinstance(pending, list)
    assert [each["version"] for each in pending if isinstance(each, dict)] == list(range(2, NEWEST + 1))
    assert await _versions(empty_database) == [1]
    assert (await migrate()).code == 0
    rest = await migrate("--dry-run")
    assert (rest.out, rest.code) == ("", 0)
    assert "lacks nothing" in rest.err


async def test_a_version_that_does_not_exist_is_refused_with_those_that_do(
    migrate: Migrate, empty_database: str
) -> None:
    for version in ("0", "99"):
        ran = await migrate("--to", version)
        assert ran.code == 2
        assert f"there is no schema version {version}" in ran.err
    assert await _versions(empty_database) is None


async def test_a_schema_that_is_too_new_is_told_with_the_fix(migrate: Migrate, empty_database: str) -> None:
    assert (await migrate()).code == 0
    connection = await asyncpg.connect(empty_database)
    await connection.execute("INSERT INTO paceline.migration (version, name, digest) VALUES (99, 'later', 'x')")
    await connection.close()
    for words in ((), ("--dry-run",)):
        ran = await migrate(*words)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == (
            f"error: the database has schema version 99, this paceline knows up to {NEWEST}: install a newer paceline\n"
        )


async def test_our_own_option_of_the_url_does_not_reach_the_server(empty_database: str) -> None:
    for words in (("--dry-run",), ()):
        ran = await run_cli(f"{empty_database}?pgbouncer=1", "migrate", *words)
        assert ran.code == 0, ran.err
    assert await _versions(empty_database) == list(range(1, NEWEST + 1))
