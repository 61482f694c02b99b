"""Tokens over HTTP: made for who may, shown once, and never wider than the caller's own."""

import signal
from datetime import timedelta

import httpx
import pytest

from gateway.conftest import Client
from gateway.door.conftest import Door, StartGateway
from paceline.database import Database
from paceline.tokens import SHAPE, Tokens

TOKENS = "/v1/tokens"
NODES = "/cluster/nodes"


def number(token: str) -> str:
    return token.split("_")[1]


async def caller(site: Door, address: str, **token: object) -> Client:
    return await site.client(address, await site.tokens.create("ak", **token))  # type: ignore[arg-type]


async def test_one_that_was_made_lets_its_holder_in_until_it_is_revoked(site: Door, address: str) -> None:
    admin = await caller(site, address)
    answer = await admin.post(TOKENS, json={"kind": "ak", "note": "for ann", "expires_in_seconds": 3600})
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    made = answer.json()
    assert SHAPE.fullmatch(made["token"])
    assert made["id"] == number(made["token"])
    ann = await site.client(address, made["token"])
    assert (await ann.get(NODES)).status_code == 200
    listed = (await admin.get(TOKENS)).json()["tokens"]
    newest = listed[0]
    assert (newest["id"], newest["note"], newest["state"]) == (made["id"], "for ann", "good")
    assert made["token"].split("_", 2)[2] not in str(listed)
    revoke = f"{TOKENS}/{made['id']}/revoke"
    assert (await admin.post(revoke)).json() == {"id": made["id"], "revoked": True}
    assert (await admin.post(revoke)).json() == {"id": made["id"], "revoked": False}
    answer = await admin.post(f"{TOKENS}/{'0' * 12}/revoke")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


async def test_a_runners_is_bound_to_its_group(site: Door, address: str, database: Database) -> None:
    await database.value("SELECT paceline.put_group('prod', 'default', 'builds', 'fast')")
    admin = await caller(site, address)
    made = (await admin.post(TOKENS, json={"kind": "rk", "group": "builds", "runner": "laptop"})).json()
    found = await site.tokens.find(made["id"])
    assert found is not None
    assert (found.pool, found.namespace, found.group, found.runner) == ("fast", "default", "builds", "laptop")
    await database.value("SELECT paceline.put_group('test', 'default', 'builds', 'slow')")
    answer = await admin.post(TOKENS, json={"kind": "rk", "group": "builds", "runner": "laptop"})
    assert (answer.status_code, answer.json()["error"]) == (409, "name_taken")


async def test_a_token_of_one_pool_makes_and_sees_those_of_that_pool(site: Door, address: str) -> None:
    other = number(await site.tokens.create("pk", pool="shop"))
    mine = await caller(site, address, pool="builds")
    made = (await mine.post(TOKENS, json={"kind": "pk"})).json()
    assert {each["pool"] for each in (await mine.get(TOKENS)).json()["tokens"]} == {"builds"}
    assert made["id"] in {each["id"] for each in (await mine.get(TOKENS)).json()["tokens"]}
    answer = await mine.post(TOKENS, json={"kind": "pk", "pool": "shop"})
    assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
    assert (await mine.post(f"{TOKENS}/{other}/revoke")).status_code == 404


async def test_who_may_only_look_makes_and_ends_none(site: Door, address: str) -> None:
    looking = await caller(site, address, read_only=True)
    (own,) = (await looking.get(TOKENS)).json()["tokens"]
    for path, body in ((TOKENS, {"kind": "pk"}), (f"{TOKENS}/{own['id']}/revoke", None)):
        answer = await looking.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]) == (403, "read_only")
    assert len(await site.tokens.list()) == 1


async def test_one_that_expires_makes_none_that_lasts_longer(site: Door, address: str) -> None:
    brief = await caller(site, address, expires=timedelta(hours=1))
    answer = await brief.post(TOKENS, json={"kind": "pk"})
    assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
    assert "let it expire in at most 3" in answer.json()["detail"]
    assert (await brief.post(TOKENS, json={"kind": "pk", "expires_in_seconds": 60})).status_code == 201


@pytest.mark.parametrize("kind", ["pk", "rk"])
async def test_they_are_for_admins(site: Door, address: str, kind: str) -> None:
    given = {"pool": "builds", **({"runner": "laptop"} if kind == "rk" else {})}
    client = await site.client(address, await site.tokens.create(kind, **given))  # type: ignore[arg-type]
    for answer in (await client.get(TOKENS), await client.post(TOKENS, json={"kind": "pk"})):
        assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")


async def test_where_no_token_is_needed_one_is_needed_for_this(site: Door) -> None:
    address = await site.start(auth=False)
    nobody = await site.nobody(address)
    for answer in (await nobody.get(TOKENS), await nobody.post(TOKENS, json={"kind": "ak"})):
        assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
        assert "send an ak_ token" in answer.json()["detail"]
    assert (await (await caller(site, address)).post(TOKENS, json={"kind": "ak"})).status_code == 201


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "kind"), ({"kind": "xk"}, "kind"), ({"kind": "pk", "colour": 1}, "colour"),
        ({"kind": "rk", "runner": "laptop"}, "a group or a pool"), ({"kind": "pk", "read_only": True}, "read_only"),
        ({"kind": "rk", "runner": "my laptop", "pool": "builds"}, "my laptop"),
        ({"kind": "rk", "runner": "laptop", "pool": "builds", "group": "builds"}, "leave one out"),
        ({"kind": "ak", "expires_in_seconds": 0}, "expires"), ({"kind": "ak", "note": "x" * 1001}, "note"),
    ],
)  # fmt: skip
async def test_what_makes_no_sense_is_refused(site: Door, address: str, body: dict[str, object], word: str) -> None:
    answer = await (await caller(site, address)).post(TOKENS, json=body)
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    assert word in answer.json()["detail"]
    assert len(await site.tokens.list()) == 1


async def test_the_log_says_who_made_and_revoked_which_and_no_secret(
    site: Door, start: StartGateway, tokens: Tokens
) -> None:
    gateway = await start("--log-level", "debug", "--leave", "0")
    mine = await tokens.create("ak")
    headers = {"authorization": f"Bearer {mine}"}
    async with httpx.AsyncClient(base_url=gateway.address, headers=headers, timeout=40) as client:
        made = (await client.post(TOKENS, json={"kind": "pk", "pool": "builds"})).json()
        await client.post(f"{TOKENS}/{made['id']}/revoke")
    await gateway.said(f"token {made['id']} was made by token {number(mine)}: pk_, pool builds")
    await gateway.said(f"token {made['id']} was revoked by token {number(mine)}")
    gateway.process.send_signal(signal.SIGTERM)
    assert await gateway.ended() == 0
    assert [token for token in (mine, made["token"]) if token.split("_", 2)[2] in gateway.log] == []
