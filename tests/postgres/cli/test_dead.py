"""`paceline dead`: nothing goes by accident, and everything that was meant goes."""

import asyncio
import os
import pty
import sys

import pytest

from paceline.database import Database
from paceline.job import JobId
from paceline.reading import Reader
from postgres.cli.process import Cli, Letters, environment


async def _dead(database: Database) -> set[JobId]:
    return {each.id for each in await Reader(database).list_dead("builds", limit=1000)}


async def test_a_list_can_be_filtered_by_kind_cause_and_time(cli: Cli, letters: Letters, database: Database) -> None:
    (old,) = await letters(kind="mail")
    (poison,) = await letters(kind="build", cause="Poison")
    await database.value("UPDATE paceline.dead SET died_at = died_at - interval '3 hours' WHERE id = $1", old)
    for words, wanted in (
        ([], [poison, old]),
        (["--kind", "mail"], [old]),
        (["--cause", "Poison"], [poison]),
        (["--since", "2h"], [poison]),
        (["--until", "2h"], [old]),
        (["--since", "1d", "--until", "2020-01-01T00:00:00Z"], []),
    ):
        answer = (await cli("dead", "list", "-p", "builds", "--json", *words)).json
        assert isinstance(answer, list)
        assert [each["id"] for each in answer if isinstance(each, dict)] == wanted
    table = (await cli("dead", "list", "-p", "builds")).out
    assert "3h ago" in table
    assert "it broke" in table


async def test_one_is_shown_with_why_it_died(cli: Cli, letters: Letters) -> None:
    (job,) = await letters()
    shown = await cli("dead", "show", job)
    assert shown.code == 0
    assert "it broke" in shown.out
    assert 'Payload    {"n": 0}' in shown.out
    unknown = await cli("dead", "show", 424242)
    assert unknown.code == 1
    assert "job 424242 is no dead letter" in unknown.err


@pytest.mark.parametrize("verb", ["redrive", "purge"])
async def test_a_filter_without_a_terminal_and_without_yes_is_refused(
    cli: Cli, letters: Letters, database: Database, verb: str
) -> None:
    jobs = await letters(3)
    ran = await cli("dead", verb, "-p", "builds", "--kind", "mail", stdin="y\n")
    assert (ran.code, ran.out) == (1, "")
    assert f"{verb} 3 dead letters in pool builds (kind mail)?" in ran.err
    assert "add --yes, or look first with --dry-run" in ran.err
    dry = await cli("dead", verb, "-p", "builds", "--all", "--dry-run")
    assert dry.out == f"would {verb} 3; nothing was changed\n"
    for words in ([], [jobs[0], "--kind", "mail"], [jobs[0], "--all"]):
        assert (await cli("dead", verb, "-p", "builds", *words)).code == 2
    assert await _dead(database) == set(jobs)


async def test_redrive_takes_what_the_filter_says_and_nothing_else(
    cli: Cli, letters: Letters, database: Database
) -> None:
    mails, builds = await letters(3, kind="mail"), await letters(2, kind="build")
    ran = await cli("dead", "redrive", "-p", "builds", "--kind", "mail", "--yes", "--json")
    assert ran.json == {"redriven": sorted(mails), "not_redriven": []}
    assert await _dead(database) == set(builds)
    assert {job.id for job in await Reader(database).list_jobs("builds", state="ready")} == set(mails)


async def test_purge_deletes_for_good_in_batches(cli: Cli, letters: Letters, database: Database) -> None:
    await letters(1)
    await database.value(
        "INSERT INTO paceline.dead SELECT (jsonb_populate_record(d, jsonb_build_object('id', 10000 + n))).* "
        "FROM paceline.dead d, generate_series(1, 2400) n"
    )
    ran = await cli("dead", "purge", "-p", "builds", "--all", "--yes")
    assert (ran.code, ran.out) == (0, "2,401 purged\n")
    assert not await _dead(database)
    assert await database.value("SELECT count(*) FROM paceline.job") == 0


@pytest.mark.parametrize("verb", ["redrive", "purge"])
async def test_ids_are_taken_without_a_question_and_the_missing_are_told(
    cli: Cli, letters: Letters, database: Database, verb: str
) -> None:
    one, two = await letters(2)
    ran = await cli("dead", verb, one, 424242, "--json")
    assert ran.code == 1
    assert ran.json == {f"{verb.rstrip('e')}ed" if verb == "purge" else "redriven": [one], _not(verb): [424242]}
    assert await _dead(database) == {two}


def _not(verb: str) -> str:
    return {"redrive": "not_redriven", "purge": "not_purged"}[verb]


@pytest.mark.parametrize(("answer", "left"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2)])
async def test_at_a_terminal_it_asks_first(
    migrated: str, letters: Letters, database: Database, answer: bytes, left: int
) -> None:
    await letters(2)
    user, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_cli", "dead", "purge", "-p", "builds", "--since", "1h",
        env=environment(migrated, TERM="xterm"), stdin=terminal, stderr=terminal, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    os.close(terminal)
    asked = b""
    while b"[y/N]" not in asked:
        asked += await asyncio.to_thread(os.read, user, 1000)
    assert b"purge 2 dead letters in pool builds (since 1h)?" in asked
    os.write(user, answer)
    await process.communicate()
    os.close(user)
    assert process.returncode == 0
    assert len(await _dead(database)) == left
