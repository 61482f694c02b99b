"""What goes wrong before a command can begin: one line, the fix, and never a password."""

import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import pytest

from paceline.queue import Queue
from postgres.cli.process import Cli, run_cli
from support.pg import LoginUrl

COMMANDS = (
    ["migrate"], ["migrate", "--dry-run"], ["enqueue", "mail"], ["jobs", "list"], ["dead", "list"], ["cron", "list"],
    ["pool", "list"],
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
async def test_without_a_database_all_three_ways_to_give_one_are_named(words: list[str], tmp_path: Path) -> None:
    ran = await run_cli("", *words, KUBECONFIG=str(tmp_path / "none"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    for way in ("--database-url", "PACELINE_DATABASE_URL", "DATABASE_URL"):
        assert way in ran.err


async def test_the_option_and_both_variables_are_ways_in(cli: Cli, migrated: str) -> None:
    assert (await cli("pool", "list", "--database-url", migrated, url="")).code == 0
    assert (await cli("pool", "list", url="", DATABASE_URL=migrated)).code == 0
    assert (await cli("pool", "list", DATABASE_URL="nonsense")).code == 0


async def test_a_wrong_password_is_told_and_not_shown(migrated: str) -> None:
    parts, password = urlsplit(migrated), "hunter2/hunter2"
    place = f"{parts.username}:{quote(password, safe='')}@{parts.hostname}:{parts.port}"
    for words in (["jobs", "list"], ["migrate"], ["jobs", "list", "--verbose"]):
        ran = await run_cli(urlunsplit(parts._replace(netloc=place)), *words)
        assert (ran.code, ran.out) == (1, "")
        assert "refuses the login: password authentication failed" in ran.err
        assert "hunter2" not in ran.err
        assert ("Traceback" in ran.err) is ("--verbose" in words)


async def test_a_server_that_is_not_there_is_named(cli: Cli) -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else can listen there
        port = silent.getsockname()[1]
        for words in (["jobs", "list"], ["migrate"]):
            ran = await cli(*words, url=f"postgresql://me:secret@127.0.0.1:{port}/jobs")
            assert ran.code == 1
            assert ran.err.startswith(f"error: cannot reach the database 127.0.0.1:{port}/jobs: ")
            assert ran.err.count("\n") == 1
            assert "secret" not in ran.err


async def test_a_url_that_is_none_is_not_quoted(cli: Cli) -> None:
    for url in ("mysql://me:secret@host/db", "postgresql://me:sec/ret@host/db", "secret"):
        ran = await cli("jobs", "list", url=url)
        assert ran.code == 1
        assert "write it like postgresql://user:***@host:5432/database" in ran.err
        assert "sec" not in ran.err


async def test_a_database_without_our_schema_says_what_to_run(empty_database: str) -> None:
    for words in (["jobs", "list"], ["enqueue", "mail"], ["dead", "list"], ["cron", "list"], ["pool", "list"]):
        ran = await run_cli(empty_database, *words)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.endswith("has no Paceline schema, or an older one: run: paceline migrate\n")


async def test_a_login_without_the_right_is_told_what_to_ask_for(cli: Cli, queue: Queue, login_url: LoginUrl) -> None:
    await queue.enqueue("mail")
    url = await login_url("reader", "builds")
    name = urlsplit(url).username
    assert (await cli("jobs", "list", "-p", "builds", url=url)).code == 0
    for words in (["enqueue", "mail", "-p", "builds"], ["pool", "pause", "builds"], ["jobs", "list", "-p", "other"]):
        ran = await cli(*words, url=url)
        assert (ran.code, ran.out) == (1, "")
        assert f'login "{name}" may not do this on pool' in ran.err
        assert f"ask the owner for: paceline pool grant {words[-1]} --login {name} --as " in ran.err


async def test_an_unknown_pool_is_told_from_an_empty_one(cli: Cli, queue: Queue) -> None:
    await queue.enqueue("mail")
    empty = await cli("jobs", "list", "-p", "builds", "--kind", "none")
    assert (empty.code, empty.out, empty.err) == (0, "", "no live jobs in pool builds\n")
    unknown = await cli("jobs", "list", "-p", "bilds")
    assert (unknown.code, 'there is no pool "bilds"' in unknown.err) == (1, True)


async def test_colour_is_for_terminals_and_no_color_is_honoured(cli: Cli, queue: Queue) -> None:
    await queue.enqueue("mail")
    assert "\x1b[" not in (await cli("jobs", "list", "-p", "builds")).out
    assert "\x1b[32m" in (await cli("jobs", "list", "-p", "builds", FORCE_COLOR="1", TERM="xterm")).out
    plain = (await cli("jobs", "list", "-p", "builds", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")).out
    assert "\x1b[32m" not in plain
