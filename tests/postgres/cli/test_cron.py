"""`paceline cron`: an entry's life from the command line."""

import pytest

from paceline.cron import Cron
from paceline.database import Database
from postgres.cli.process import Cli


async def test_an_entry_is_put_listed_paused_resumed_and_deleted(cli: Cli, database: Database) -> None:
    cron = Cron(database, "builds")
    put = await cli(
        "cron", "put", "nightly", "30 2 * * *", "report", '{"a": 1}', "-p", "builds", "-z", "Europe/Berlin",
        "--overlap", "skip", "--priority", 7, "--expires-in", "1h", "--json",
    )  # fmt: skip
    (entry,) = await cron.list()
    assert put.json == {"name": "nightly", "pool": "builds", "next_at": entry.next_at.isoformat()}
    assert (entry.schedule, entry.timezone) == ("30 2 * * *", "Europe/Berlin")
    assert entry.job["payload"] == {"a": 1}
    assert (entry.job["priority"], entry.job["ttl"], entry.job["dedupe"]) == (7, 3600, "cron:nightly")
    head, line = (await cli("cron", "list", "-p", "builds")).out.splitlines()
    assert head.split() == ["NAME", "SCHEDULE", "TIMEZONE", "KIND", "NEXT", "LAST"]
    assert line.startswith("nightly  30 2 * * *  Europe/Berlin  report  in ")
    assert (await cli("cron", "pause", "nightly", "-p", "builds")).code == 0
    assert (await cron.list())[0].paused
    assert "paused" in (await cli("cron", "list", "-p", "builds")).out
    assert (await cli("cron", "resume", "nightly", "-p", "builds")).code == 0
    assert not (await cron.list())[0].paused
    assert (await cli("cron", "delete", "nightly", "-p", "builds")).code == 0
    assert not await cron.list()
    empty = await cli("cron", "list", "-p", "builds")
    assert (empty.code, empty.out, empty.err) == (0, "", "no cron entries in pool builds\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["put", "x", "99 2 * * *", "report"], 'schedule "99 2 * * *": bad minute'),
        (["put", "x", "0 2 * * *", "report", "-z", "Europe/Berln"], "did you mean Europe/Berlin?"),
        (["put", "x", "0 2 * * *", "report", "oops"], "payload oops is not JSON"),
        (["delete", "none"], 'pool "default" has no cron entry "none"'),
        (["pause", "none"], 'pool "default" has no cron entry "none"'),
        (["list"], 'there is no pool "default"'),
    ],
)
async def test_a_bad_entry_is_refused_with_the_fix(cli: Cli, words: list[str], message: str) -> None:
    ran = await cli("cron", *words)
    assert (ran.code, ran.out) == (1, "")
    assert message in ran.err
