"""Who is let in: one answer for everything that is wrong with a token, and none of them outlives its revocation."""

import asyncio
import hmac
from collections.abc import Callable
from functools import partial

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gateway.conftest import Client, until
from gateway.door.conftest import PATIENCE, Door
from paceline.database import Database
from paceline.line import Line, Lines
from paceline.tokens import Tokens, hash_of
from paceline_gateway.auth import NO_HASH
from paceline_gateway.known import KnownTokens
from support.pg import LoginUrl

SECRET = "x" * 43
NODES = "/cluster/nodes"


def of(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def number(token: str) -> str:
    return token.split("_")[1]


async def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(
    site: Door, nobody: Client, database: Database
) -> None:
    good, expired, revoked = [await site.tokens.create("ak") for _ in range(3)]
    await database.value("UPDATE paceline.token SET expires_at = clock_timestamp() WHERE id = $1", number(expired))
    await site.tokens.revoke(number(revoked))
    assert (await nobody.get(NODES, headers=of(good))).status_code == 200
    bad = {
        "none": "nonsense", "no such id": f"ak_{'0' * 12}_{SECRET}", "another secret": f"ak_{number(good)}_{SECRET}",
        "another kind": good.replace("ak_", "pk_", 1), "expired": expired, "revoked": revoked,
    }  # fmt: skip
    answers = {why: await nobody.get(NODES, headers=of(token)) for why, token in bad.items()}
    answers["no header"] = await nobody.get(NODES)
    answers["another scheme"] = await nobody.get(NODES, headers={"authorization": "Basic YTpi"})
    assert {why: answer.status_code for why, answer in answers.items()} == dict.fromkeys(answers, 401)
    assert len({answer.text for answer in answers.values()}) == 1
    assert all(answer.headers["www-authenticate"] == "Bearer" for answer in answers.values())


async def test_a_secret_is_compared_in_constant_time_whether_its_token_is_there_or_not(
    site: Door, nobody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever measures how long an answer takes learns neither which tokens there are, nor how a secret begins."""
    good = await site.tokens.create("ak")
    compared: list[tuple[bytes, bytes]] = []

    class Watched:
        @staticmethod
        def compare_digest(one: bytes, other: bytes) -> bool:
            compared.append((one, other))
            return hmac.compare_digest(one, other)

    monkeypatch.setattr("paceline_gateway.auth.hmac", Watched)
    secret = good.split("_", 2)[2]
    kept = hash_of(secret)
    known, unknown = f"ak_{number(good)}_{SECRET}", f"ak_{'0' * 12}_{SECRET}"
    for token, status, expected in [
        (good, 200, (kept, kept)), (known, 401, (hash_of(SECRET), kept)), (unknown, 401, (hash_of(SECRET), NO_HASH)),
    ]:  # fmt: skip
        compared.clear()
        assert (await nobody.get(NODES, headers=of(token))).status_code == status
        assert compared == [expected]


async def test_a_token_of_a_pool_that_the_gateway_does_not_serve_is_a_bad_one(site: Door, login_url: LoginUrl) -> None:
    mine = await site.tokens.create("ak", pool="builds")
    others = [await site.tokens.create("ak", pool="shop"), await site.tokens.create("ak")]
    nobody = await site.nobody(await site.start(database_url=await login_url("gateway", "builds")))
    assert (await nobody.get(NODES, headers=of(mine))).status_code == 200
    for token in others:
        answer = await nobody.get(NODES, headers=of(token))
        assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")


async def test_who_has_no_token_does_not_learn_which_paths_there_are(site: Door, nobody: Client) -> None:
    assert (await nobody.get("/v1/nothing")).status_code == 401
    admin = of(await site.tokens.create("ak"))
    answer = await nobody.get("/v1/nothing", headers=admin)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    answer = await nobody.delete(NODES, headers=admin)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


async def test_a_token_is_only_for_its_kind_and_the_answer_says_so(site: Door, nobody: Client) -> None:
    for kind, path in (("pk", NODES), ("rk", "/v1/jobs"), ("ak", "/runner/runs?incarnation=1")):
        token = await site.tokens.create(kind, pool="builds", runner="laptop" if kind == "rk" else None)  # type: ignore[arg-type]
        answer = await nobody.get(path, headers=of(token))
        assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
        assert f"not with {kind}_" in answer.json()["detail"]


@pytest.mark.parametrize(
    "where", ["?token=x", "?Access_Token=x", "?q={}", "?q={quoted}", "/{}", "?pool=builds&api_key="]
)
async def test_a_token_in_a_url_is_refused_and_not_repeated(site: Door, nobody: Client, where: str) -> None:
    good = await site.tokens.create("ak")
    url = NODES + where.format(good, quoted=good.replace("_", "%5F"))
    answer = await nobody.get(url, headers=of(good))
    assert (answer.status_code, answer.json()["error"]) == (400, "token_in_url")
    assert number(good) not in answer.text


async def test_a_token_in_a_sockets_url_is_refused_too(site: Door, address: str) -> None:
    token = await site.tokens.create("rk", pool="builds", runner="laptop")
    url = address.replace("http", "ws") + f"/runner/connect?token={token}"
    with pytest.raises(InvalidStatus) as refused:
        async with connect(url, open_timeout=PATIENCE):
            pass
    assert refused.value.response.status_code == 400


# revoked


async def test_a_revoked_token_is_refused_at_every_gateway(site: Door) -> None:
    token = await site.tokens.create("ak")
    clients = [await site.client(await site.start(), token) for _ in range(2)]
    for app, client in zip(site.apps, clients, strict=True):
        await until(partial(is_kept, app.state.services.gate._known, token, client))
    await site.tokens.revoke(number(token))
    for client in clients:
        await until(partial(is_refused, client))


async def is_kept(known: KnownTokens, token: str, client: Client) -> bool:
    """Whether a gateway would not ask the database for it any more."""
    assert (await client.get(NODES)).status_code == 200
    return known.get(number(token)) is not None


async def is_refused(client: Client) -> bool:
    return (await client.get(NODES)).status_code == 401


async def test_where_nothing_is_heard_each_token_is_looked_up_every_time(site: Door) -> None:
    token = await site.tokens.create("ak")
    client = await site.client(await site.start(listen_url=f"{site.url}?pgbouncer=1"), token)
    for _ in range(3):
        assert (await client.get(NODES)).status_code == 200
    await site.tokens.revoke(number(token))
    assert (await client.get(NODES)).status_code == 401


async def test_a_gateway_that_was_told_nothing_listens_again(migrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is slow for a moment must not cost each token a lookup for good."""
    monkeypatch.setattr("paceline_gateway.known.DEAF_SECONDS", 0.05)
    known, answers, hear = KnownTokens(Lines(migrated)), [False], Line.hear

    async def heard(self: Line, channel: str, told: Callable[[str], None]) -> bool:
        well = await hear(self, channel, told)
        return answers.pop() if answers else well

    monkeypatch.setattr(Line, "hear", heard)
    async with known.running():
        await until(lambda: true(known.hearing))
        assert not answers


async def test_what_was_asked_for_before_a_revocation_is_not_kept_after_it(migrated: str, tokens: Tokens) -> None:
    token = number(await tokens.create("ak"))
    known = KnownTokens(Lines(migrated))
    async with known.running():
        await until(lambda: true(known.hearing))
        asked_at, found = known.changes, await tokens.find(token)
        assert found is not None
        await tokens.revoke(token)
        await until(lambda: true(known.changes > asked_at))
        known.keep(found, asked_at)
        assert known.get(token) is None


async def test_a_gateway_whose_line_breaks_forgets_what_it_knew(
    migrated: str, tokens: Tokens, database: Database
) -> None:
    token = number(await tokens.create("ak"))
    known = KnownTokens(Lines(migrated))
    async with known.running():
        await until(lambda: true(known.hearing))
        found = await tokens.find(token)
        assert found is not None
        known.keep(found, known.changes)
        assert known.get(token) == found
        await database.value(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'SELECT pg_notify%'"
        )
        await until(lambda: true(known.get(token) is None))
        await until(lambda: true(known.hearing))


async def test_a_token_is_not_kept_longer_than_it_is_good(migrated: str, tokens: Tokens, database: Database) -> None:
    token = number(await tokens.create("ak"))
    await database.value("UPDATE paceline.token SET expires_at = clock_timestamp() + interval '300 ms'")
    known = KnownTokens(Lines(migrated))
    async with known.running():
        await until(lambda: true(known.hearing))
        found = await tokens.find(token)
        assert found is not None
        known.keep(found, known.changes)
        await until(lambda: true(known.get(token) is None))


async def true(value: bool) -> bool:
    return value


# used


async def test_a_token_that_lets_somebody_in_is_noted_and_one_that_is_guessed_at_is_not(
    site: Door, database: Database
) -> None:
    good, guessed = await site.tokens.create("ak"), await site.tokens.create("ak")
    nobody = await site.nobody(await site.start())
    assert (await nobody.get(NODES, headers=of(good))).status_code == 200
    assert (await nobody.get(NODES, headers=of(f"ak_{number(guessed)}_{SECRET}"))).status_code == 401
    await site.gateways.aclose()
    used = {each.id: each.used_at is not None for each in await site.tokens.list()}
    assert used == {number(good): True, number(guessed): False}


# locked out


@pytest.fixture
def locked_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody is let in again before a test has looked."""
    monkeypatch.setattr("paceline_gateway.lockout.FIRST_SECONDS", 300.0)


@pytest.mark.usefixtures("locked_for_long")
async def test_after_ten_bad_tokens_an_address_has_to_wait_and_others_do_not(site: Door, address: str) -> None:
    old, new = await site.tokens.create("ak"), await site.tokens.create("ak")
    here = await site.nobody(address)
    assert (await here.get(NODES, headers=of(old))).status_code == 200
    bad = [await here.get(NODES, headers=of(f"ak_{'0' * 12}_{SECRET}")) for _ in range(11)]
    assert [each.status_code for each in bad] == [401] * 10 + [429]
    assert bad[-1].json()["error"] == "locked_out"
    assert 0 < int(bad[-1].headers["retry-after"]) <= 300
    assert (await here.get(NODES, headers=of(new))).status_code == 429
    assert (await here.get(NODES, headers=of(old))).status_code == 200, "it was good before"
    assert (await here.get("/health/ready")).status_code == 200
    elsewhere = await site.nobody(address, transport=httpx.AsyncHTTPTransport(local_address="127.0.0.2"))
    assert (await elsewhere.get(NODES, headers=of(new))).status_code == 200


@pytest.mark.usefixtures("locked_for_long")
async def test_of_guesses_that_come_together_no_more_are_answered_than_of_those_that_come_one_by_one(
    site: Door, address: str
) -> None:
    here = await site.nobody(address)
    bad = await asyncio.gather(*(here.get(NODES, headers=of(f"ak_{n:012x}_{SECRET}")) for n in range(40)))
    assert sorted(each.status_code for each in bad) == [401] * 10 + [429] * 30


@pytest.mark.usefixtures("locked_for_long")
async def test_sockets_with_bad_tokens_are_counted(site: Door, address: str) -> None:
    headers = of(f"rk_{'0' * 12}_{SECRET}")

    async def knock() -> None:
        url = address.replace("http", "ws") + "/runner/connect"
        async with connect(url, additional_headers=headers, open_timeout=PATIENCE) as socket:
            await socket.wait_closed()

    await asyncio.gather(*[knock() for _ in range(10)])
    nobody = await site.nobody(address)
    assert (await nobody.get(NODES, headers=of(await site.tokens.create("ak")))).status_code == 429


@pytest.mark.usefixtures("locked_for_long")
@pytest.mark.parametrize(("proxies", "others"), [(("127.0.0.0/8",), 200), (("10.0.0.0/8",), 429), ((), 429)])
async def test_only_a_trusted_proxy_says_where_callers_come_from(
    site: Door, proxies: tuple[str, ...], others: int
) -> None:
    nobody = await site.nobody(await site.start(proxies=proxies))
    for _ in range(10):
        await nobody.get(NODES, headers={**of(f"ak_{'0' * 12}_{SECRET}"), "x-forwarded-for": "192.0.2.1"})
    good = of(await site.tokens.create("ak"))
    assert (await nobody.get(NODES, headers={**good, "x-forwarded-for": "192.0.2.2"})).status_code == others
    if others == 200:
        other = of(await site.tokens.create("ak"))
        assert (await nobody.get(NODES, headers={**other, "x-forwarded-for": "192.0.2.1"})).status_code == 429


async def test_without_auth_nobody_needs_a_token_and_a_bad_one_is_still_bad(site: Door) -> None:
    nobody = await site.nobody(await site.start(auth=False))
    assert (await nobody.get(NODES)).status_code == 200
    assert (await nobody.post("/v1/jobs", json={"kind": "mail"})).status_code == 201
    assert (await nobody.get(NODES, headers=of("nonsense"))).status_code == 401
    assert (await nobody.post("/runner/register", json={"kinds": ["*"]})).status_code == 403
