"""`paceline token`: shown once, listed without its secret, and revoked without repeating it."""

import re
from typing import Any

import pytest

from paceline.database import Database
from paceline.tokens import SHAPE, Tokens
from postgres.cli.process import Cli
from support.pg import LoginUrl


async def test_a_token_is_all_that_is_on_stdout(cli: Cli, database: Database) -> None:
    ran = await cli("token", "create", "--producer", "--pool", "builds", "--note", "shop")
    assert ran.code == 0
    found = SHAPE.fullmatch(ran.out.removesuffix("\n"))
    assert found is not None
    assert "it is not shown again" in ran.err
    assert found.group(3) not in ran.err
    kept = await Tokens(database).find(found.group(2))
    assert kept is not None
    assert (kept.kind, kept.pool, kept.valid) == ("pk", "builds", True)
    assert found.group(3) not in str(kept)
    fields = (await cli("token", "create", "--admin", "--json")).fields
    assert str(fields["token"]).split("_")[1] == fields["id"]


async def test_each_kind_is_bound_to_what_it_is_for(cli: Cli, database: Database) -> None:
    await database.value("SELECT paceline.put_group('prod', 'ci', 'builds', 'fast')")
    for words in (
        ["--runner", "laptop", "--group", "ci/builds", "--expires", "30d"],
        ["--runner", "laptop", "--pool", "builds"],
        ["--admin", "--read-only"],
    ):
        assert (await cli("token", "create", *words)).code == 0
    looking, of_pool, of_group = await listed(cli)
    assert (of_group["kind"], of_group["runner"], of_group["namespace"], of_group["group"]) == (
        "rk", "laptop", "ci", "builds",
    )  # fmt: skip
    assert (of_group["pool"], of_group["install"]) == ("fast", "prod")
    assert of_group["expires_at"] is not None
    assert (of_pool["group"], of_pool["pool"], of_pool["expires_at"]) == (None, "builds", None)
    assert (looking["kind"], looking["pool"], looking["read_only"]) == ("ak", None, True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "say for whom"),
        (["--producer", "--admin"], "say for whom"),
        (["--producer", "--read-only"], "it goes with --admin"),
        (["--runner", "laptop"], "a group or a pool"),
        (["--runner", "my laptop", "--pool", "builds"], 'name "my laptop" is none for a runner'),
        (["--runner", "laptop", "--group", "ci/builds", "--pool", "builds"], "leave one out"),
        (["--runner", "laptop", "--group", "ci/nothing"], "there is no RunnerGroup ci/nothing"),
        (["--producer", "--group", "ci/builds"], "group and runner are for rk_"),
        (["--admin", "--expires", "0s"], "expires"),
        (["--admin", "--expires", "soon"], '"soon" is no duration'),
    ],
)
async def test_what_makes_no_sense_is_refused(cli: Cli, words: list[str], complaint: str) -> None:
    ran = await cli("token", "create", *words)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert complaint in re.sub(r"[\s│]+", " ", ran.err)
    assert await listed(cli) == []


async def test_the_list_shows_which_ones_are_good(cli: Cli, database: Database) -> None:
    tokens = Tokens(database)
    good, expired, revoked = [(await tokens.create("ak", note=note)).split("_")[1] for note in ("a", "b", "c")]
    await database.value("UPDATE paceline.token SET expires_at = clock_timestamp() WHERE id = $1", expired)
    await tokens.revoke(revoked)
    await tokens.note_used([good])
    found = {each["id"]: (each["state"], each["used_at"] is not None) for each in await listed(cli)}
    assert found == {good: ("good", True), expired: ("expired", False), revoked: ("revoked", False)}
    assert "hash" not in (await cli("token", "list", "--json")).out
    table = (await cli("token", "list")).out
    assert re.search(rf"{good} +admin +\* .* good +now|{good} +admin +\* .* good .*ago", table)
    assert re.search(rf"{revoked} .* revoked ", table)


async def test_a_whole_token_is_revoked_by_its_id_and_not_shown(cli: Cli, database: Database) -> None:
    tokens = Tokens(database)
    whole, other = await tokens.create("ak"), (await tokens.create("ak")).split("_")[1]
    number, secret = whole.split("_", 2)[1:]
    ran = await cli("token", "revoke", whole, other)
    assert (ran.code, ran.out) == (0, "2 revoked\n")
    assert f"taken for its id, {number}" in ran.err
    assert secret not in ran.out + ran.err
    again = await cli("token", "revoke", number, "--json")
    assert (again.code, again.fields["revoked"], again.fields["revoked_before"]) == (0, [], [number])


async def test_an_unknown_one_is_told_and_the_others_are_revoked(cli: Cli, database: Database) -> None:
    known = (await Tokens(database).create("ak")).split("_")[1]
    ran = await cli("token", "revoke", "0" * 12, known)
    assert ran.code == 1
    assert ran.out == "1 revoked\n"
    assert f"there is no token {'0' * 12}" in ran.err
    secret = "topsecret" * 5
    for mistyped in (f"xk_{known}_{secret}", f"{known}{secret}"):
        ran = await cli("token", "revoke", mistyped)
        assert ran.code == 2
        assert "topsecret" not in ran.err


async def test_an_operator_of_a_pool_makes_and_sees_tokens_of_that_pool_alone(cli: Cli, login_url: LoginUrl) -> None:
    for pool in ("builds", "shop"):
        assert (await cli("token", "create", "--producer", "--pool", pool)).code == 0
    url = await login_url("operator", "builds")
    assert (await cli("token", "create", "--producer", "--pool", "builds", url=url)).code == 0
    for words in (["--producer", "--pool", "shop"], ["--admin"]):
        refused = await cli("token", "create", *words, url=url)
        assert (refused.code, refused.out) == (1, "")
        assert "may not do this" in refused.err
    assert {each["pool"] for each in await listed(cli, url=url)} == {"builds"}
    (shop,) = [each for each in await listed(cli) if each["pool"] == "shop"]
    refused = await cli("token", "revoke", shop["id"], url=url)
    assert (refused.code, refused.out) == (1, "nothing was revoked\n")


async def listed(cli: Cli, **how: Any) -> list[dict[str, Any]]:
    ran = await cli("token", "list", "--json", **how)
    assert ran.code == 0, ran.err
    found: Any = ran.json
    return list(found)
