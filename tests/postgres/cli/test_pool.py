"""`paceline pool`: what is in pools, their limits, and who may use them."""

from urllib.parse import urlsplit

import pytest

from paceline.database import Database
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import PoolSeen
from postgres.cli.process import Cli
from support.pg import LoginUrl, Register


async def _pool(database: Database, name: str = "builds") -> PoolSeen:
    (found,) = [each for each in await Reader(database).list_pools() if each.name == name]
    return found


async def test_pools_are_listed_and_shown_with_what_is_stuck(cli: Cli, queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    await register(kinds=("build",))
    head, line = (await cli("pool", "list")).out.splitlines()
    assert dict(zip(head.split(), line.split(), strict=True)) == {
        "POOL": "builds", "STATE": "active", "RUNNERS": "1", "READY": "1", "RUNNING": "0", "SCHEDULED": "0",
        "BLOCKED": "0", "DEAD": "0",
    }  # fmt: skip
    shown = (await cli("pool", "show", "builds")).out
    assert "1 ready, 0 running" in shown
    assert 'no runner of pool "builds" has a handler for kind "mail"' in shown
    told = (await cli("pool", "show", "-p", "builds", "--json")).fields
    assert (told["ready"], told["unclaimable"]) == (1, 1)
    (lane,) = told["unclaimable_lanes"] if isinstance(told["unclaimable_lanes"], list) else []
    assert isinstance(lane, dict)
    assert lane["reason"] == "kind"


async def test_limits_are_set_kept_and_removed(cli: Cli, queue: Queue, database: Database) -> None:
    await queue.enqueue("mail")
    ran = await cli("pool", "set", "builds", "--max-depth", 5, "--rate", 0.5, "--json")
    assert ran.json == {"pool": "builds", "max_depth": 5, "rate": 0.5, "burst": 1.0}
    assert (await cli("pool", "set", "-p", "builds", "--burst", 3)).code == 0
    seen = await _pool(database)
    assert (seen.max_depth, seen.rate, seen.burst) == (5, 0.5, 3)
    assert (await cli("pool", "set", "builds", "--rate", "none")).code == 0
    seen = await _pool(database)
    assert (seen.max_depth, seen.rate) == (5, None)
    refused = await cli("pool", "set", "builds", "--burst", 3)
    assert refused.code == 2
    assert "pool builds has no rate" in refused.err


async def test_a_slow_rate_lets_jobs_through_all_the_same(cli: Cli, queue: Queue, register: Register) -> None:
    """A bucket that holds less than one permit would never give one."""
    runner = await register()
    for words in (["set", "builds"], ["kind-rate", "mail", "-p", "builds", "0.01"], ["key", "k", "-p", "builds"]):
        rate = [] if words[0] == "kind-rate" else ["--rate", "0.01"]
        assert (await cli("pool", *words, *rate)).code == 0
    await queue.enqueue("mail")
    assert len((await runner.step(5)).jobs) == 1
    await queue.enqueue("mail")
    assert not (await runner.step(5)).jobs


async def test_limits_of_kinds_and_keys_are_set_and_removed(cli: Cli, queue: Queue, database: Database) -> None:
    await queue.enqueue("mail")
    row = "SELECT (rate, burst)::text FROM paceline.kind WHERE name = 'mail'"
    assert (await cli("pool", "kind-rate", "mail", 5, "--burst", 20, "-p", "builds")).code == 0
    assert await database.value(row) == "(5,20)"
    assert (await cli("pool", "kind-rate", "mail", "none", "-p", "builds")).code == 0
    assert await database.value("SELECT rate FROM paceline.kind WHERE name = 'mail'") is None
    key = "SELECT (max_running, rate)::text FROM paceline.key WHERE name = 'ann'"
    assert (await cli("pool", "key", "ann", "--limit", 3, "--rate", 2, "-p", "builds")).code == 0
    assert await database.value(key) == "(3,2)"
    assert (await cli("pool", "key", "ann", "--limit", "none", "--rate", 2, "-p", "builds")).code == 0
    assert await database.value(key) == "(,2)"
    assert (await cli("pool", "key", "ann", "-p", "builds")).code == 2
    bad = await cli("pool", "kind-rate", "no kind!", 5, "-p", "builds")
    assert (bad.code, bad.err.startswith('error: kind "no kind!" is no name')) == (1, True)


async def test_a_paused_pool_gives_nothing_until_it_is_resumed(cli: Cli, queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    runner = await register()
    assert (await cli("pool", "pause", "builds")).out == "pool builds is paused\n"
    assert not (await runner.step(1)).jobs
    assert (await cli("pool", "resume", PACELINE_POOL="builds")).out == "pool builds is active\n"
    assert len((await runner.step(1)).jobs) == 1


async def test_a_mistyped_pool_is_refused_and_not_made(cli: Cli, queue: Queue, database: Database) -> None:
    await queue.enqueue("mail")
    for words in (
        ["show", "bilds"], ["set", "bilds", "--rate", "1"], ["pause", "bilds"], ["resume", "bilds"],
        ["kind-rate", "mail", "1", "-p", "bilds"], ["key", "k", "--limit", "1", "-p", "bilds"],
        ["revoke", "bilds", "--login", "ci", "--as", "runner"], ["grant", "bilds", "--namespace", "team-b"],
    ):  # fmt: skip
        ran = await cli("pool", *words)
        assert (ran.code, ran.out) == (1, ""), words
        assert 'there is no pool "bilds"' in ran.err
    assert [each.name for each in await Reader(database).list_pools()] == ["builds"]
    assert (await cli("pool", "set", "new", "--max-depth", 9, "--create")).code == 0
    assert (await _pool(database, "new")).max_depth == 9


async def test_a_login_gets_a_role_and_loses_it(cli: Cli, queue: Queue, login_url: LoginUrl) -> None:
    await queue.enqueue("mail")
    url = await login_url(None)
    name = urlsplit(url).username
    refused = await cli("enqueue", "mail", "-p", "builds", url=url)
    assert refused.code == 1
    assert f"paceline pool grant builds --login {name} --as producer" in refused.err
    granted = await cli("pool", "grant", "builds", "--login", name, "--as", "producer")
    assert (granted.out, granted.err) == (f"login {name} is producer of pool builds\n", "")
    assert (await cli("enqueue", "mail", "-p", "builds", url=url)).code == 0
    assert (await cli("pool", "revoke", "builds", "--login", name, "--as", "producer")).code == 0
    assert (await cli("enqueue", "mail", "-p", "builds", url=url)).code == 1
    assert (await cli("pool", "grant", "*", "--login", name, "--as", "producer")).code == 0
    assert (await cli("enqueue", "mail", "-p", "brand-new", url=url)).code == 0


async def test_grants_are_listed(cli: Cli, queue: Queue, login_url: LoginUrl) -> None:
    await queue.enqueue("mail")
    name = urlsplit(await login_url("producer", "builds")).username
    assert (await cli("pool", "grant", "builds", "--namespace", "team-b")).code == 0
    head, *lines = (await cli("pool", "grants", "builds")).out.splitlines()
    assert head.split() == ["POOL", "LOGIN", "ROLE", "NAMESPACE"]
    assert [line.split() for line in lines][-2:] == [["builds", name, "producer", "-"], ["builds", "-", "-", "team-b"]]
    assert lines[0].split()[0] == "*"
    told = (await cli("pool", "grants", "--json")).json
    assert isinstance(told, list)
    assert {"pool": "builds", "login": None, "role": None, "namespace": "team-b"} in told


async def test_revoking_on_a_mistyped_pool_keeps_the_grant_on_every_pool(
    cli: Cli, queue: Queue, login_url: LoginUrl
) -> None:
    await queue.enqueue("mail")
    url = await login_url("producer")
    name = urlsplit(url).username
    assert (await cli("pool", "revoke", "bilds", "--login", name, "--as", "producer")).code == 1
    assert (await cli("enqueue", "mail", "-p", "builds", url=url)).code == 0


async def test_a_login_that_the_server_does_not_know_is_mentioned(cli: Cli, queue: Queue) -> None:
    await queue.enqueue("mail")
    ran = await cli("pool", "grant", "builds", "--login", "nobody_yet", "--as", "reader", "--json")
    assert ran.json == {"pool": "builds", "login": "nobody_yet", "role": "reader"}
    assert 'the server has no login "nobody_yet" yet' in ran.err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--login", "x"],
        ["--login", "x", "--as", "king"],
        ["--namespace", "n", "--as", "runner"],
        ["--login", "x", "--namespace", "n"],
    ],
)
async def test_half_a_grant_is_wrong_usage(cli: Cli, words: list[str]) -> None:
    assert (await cli("pool", "grant", "builds", *words)).code == 2


async def test_health_tells_who_holds_vacuum_back_and_that_nobody_ticks(cli: Cli, database: Database) -> None:
    ran = await cli("pool", "health")
    assert ran.code == 0
    assert "never done: no runner, gateway or operator has been here yet" in ran.out
    assert await database.value("SELECT paceline.tick()") is True
    told = (await cli("pool", "health", "--json")).fields
    assert told["holders"] == []
    assert told["tick_overdue_seconds"] is not None
