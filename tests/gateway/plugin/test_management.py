"""Dead letters, cron, pools and tokens by the command line: the same words and the same answers by either way."""

import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from gateway.plugin.conftest import Ask, Crew
from paceline.claims import Failed
from paceline.database import Database
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.tokens import SHAPE, Tokens
from postgres.cli.process import run_cli

Die: TypeAlias = Callable[[int], Awaitable[list[int]]]


@pytest.fixture
def die(queue: Queue, crew: Crew) -> Die:
    """Let some jobs die."""

    async def make(many: int) -> list[int]:
        made = await queue.enqueue_many([NewJob(kind="mail", payload={"to": "ann"})] * many)
        for _ in made:
            await crew[0].fail([Failed(job, "it broke") for job in (await crew[0].step(1)).jobs])
        return [each.id for each in made]

    return make


async def test_dead_letters(ask: Ask, die: Die) -> None:
    first, second, third = await die(3)
    listed = await ask("dead", "list", "-p", "builds", "--since", "1h")
    assert [line.split()[:2] for line in listed.out.splitlines()[1:]] == [
        [str(each), "mail"] for each in (third, second, first)
    ]
    shown = (await ask("dead", "show", first, "--json")).fields
    assert (shown["state"], shown["error"], shown["payload"]) == ("dead", "it broke", {"to": "ann"})
    unknown = await ask("dead", "show", 999)
    assert (unknown.code, "job 999 is no dead letter, it is unknown" in unknown.err) == (1, True)
    tried = await ask("dead", "redrive", "-p", "builds", "--all", "--dry-run")
    assert tried.out == "would redrive 3; nothing was changed\n"
    assert (await ask("dead", "redrive", first)).out == "1 redriven\n"
    assert (await ask("dead", "purge", "-p", "builds", "-k", "mail", "--yes", "--json")).json == {
        "purged": [second, third], "not_purged": [],
    }  # fmt: skip
    again = await ask("dead", "purge", first)
    assert (again.code, again.out) == (1, "0 purged, 1 not: no dead letter\n")
    assert "no dead letters in pool builds" in (await ask("dead", "list", "-p", "builds")).err


async def test_cron(ask: Ask, queue: Queue) -> None:
    words = ("nightly", "30 2 * * *", "mail", '{"to": "ann"}', "-p", "builds", "--overlap", "skip")
    put = await ask("cron", "put", *words)
    assert (put.code, put.out.startswith("cron entry nightly of pool builds fires next in ")) == (0, True)
    paused = await ask("cron", "pause", "nightly", "-p", "builds")
    assert paused.out == "cron entry nightly of pool builds is paused\n"
    head, line = (await ask("cron", "list", "-p", "builds", "-o", "wide")).out.splitlines()
    assert " ".join(head.split()) == "NAME SCHEDULE TIMEZONE KIND NEXT LAST OVERLAP PRIORITY PAYLOAD"
    assert " ".join(line.split()) == 'nightly 30 2 * * * UTC mail paused - skip 5 {"to": "ann"}'
    (told,) = json.loads((await ask("cron", "list", "-p", "builds", "--json")).out)
    assert told["job"] == {
        "kind": "mail", "payload": {"to": "ann"}, "priority": 5, "dedupe": "cron:nightly", "max_tries": 5,
        "max_losses": 3,
    }  # fmt: skip
    assert (await ask("cron", "resume", "nightly", "-p", "builds")).code == 0
    assert (await ask("cron", "delete", "nightly", "-p", "builds")).code == 0
    gone = await ask("cron", "delete", "nightly", "-p", "builds")
    assert (gone.code, 'pool "builds" has no cron entry "nightly"' in gone.err) == (1, True)
    assert "no cron entries in pool builds" in (await ask("cron", "list", "-p", "builds")).err
    wrong = await ask("cron", "list", "-p", "bilds")
    assert (wrong.code, 'there is no pool "bilds"' in wrong.err) == (1, True)


async def test_pools(ask: Ask, queue: Queue, crew: Crew) -> None:
    await queue.enqueue(NewJob(kind="mail", tags=("gpu",)))
    assert (await ask("pool", "set", "builds", "--max-depth", 5, "--rate", 0.5)).out == (
        "pool builds has max-depth 5, rate 0.5, burst 1\n"
    )
    assert (await ask("pool", "pause", "builds")).out == "pool builds is paused\n"
    _, line = (await ask("pool", "list", "-o", "wide")).out.splitlines()
    assert " ".join(line.split()) == "builds paused 2 1 0 0 0 0 1 1 ci 5 0.5 1"
    shown = (await ask("pool", "show", "builds")).out
    assert "r1" in shown
    assert "Unclaimable" in shown
    assert (await ask("pool", "resume", "builds")).code == 0
    assert (await ask("pool", "kind-rate", "mail", 5, "-p", "builds")).out == (
        "kind mail of pool builds has rate 5, burst 5\n"
    )
    assert (await ask("pool", "key", "ann", "--limit", 3, "-p", "builds", "--json")).json == {
        "pool": "builds", "key": "ann", "limit": 3, "rate": None, "burst": None,
    }  # fmt: skip
    for words in (("set", "bilds", "--rate", 5), ("pause", "bilds"), ("key", "ann", "--limit", 3, "-p", "bilds")):
        wrong = await ask("pool", *words)
        assert (wrong.code, 'there is no pool "bilds"' in wrong.err) == (1, True)
    assert "nobody holds it back" in (await ask("pool", "health")).out


async def test_tokens(ask: Ask, database: Database) -> None:
    made = await ask("token", "create", "--producer", "--pool", "builds", "--note", "shop", "--expires", "90d")
    assert (made.code, made.err) == (0, "keep it now: it is not shown again\n")
    shape = SHAPE.fullmatch(made.out.strip())
    assert shape is not None
    listed = await ask("token", "list")
    (line,) = [each for each in listed.out.splitlines() if each.startswith(shape[2])]
    assert line.split()[:3] == [shape[2], "producer", "builds"]
    assert shape[3] not in listed.out
    assert (await ask("token", "list", "--json")).out.count('"id"') == len(await Tokens(database).list())
    assert (await ask("token", "revoke", shape[0])).out == "1 revoked\n"
    again = await ask("token", "revoke", shape[2], "0" * 12)
    assert (again.code, again.out) == (1, "1 had been before\n")
    assert f"there is no token {'0' * 12} that you may revoke" in again.err


async def test_what_logins_may_do_is_not_asked_of_a_gateway(migrated: str) -> None:
    for words in (("grants",), ("grant", "builds", "--login", "ci", "--as", "runner")):
        ran = await run_cli("", "pool", *words, "--gateway", "http://127.0.0.1:1")
        assert (ran.code, "No such option: --gateway" in ran.err) == (2, True)
