"""Pools over HTTP: limits that stay until they are taken away, pauses, and who may set them."""

import pytest

from gateway.conftest import Client, Site
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.queue import Queue

POOL = "/v1/pools/builds"
KIND = "SELECT (rate, burst)::text FROM paceline.kind WHERE name = 'mail'"
KEY = "SELECT (max_running, rate, burst)::text FROM paceline.key WHERE name = 'ann'"


@pytest.fixture
async def pool(queue: Queue) -> Queue:
    """One with a job."""
    await queue.enqueue("mail")
    return queue


async def test_limits_are_set_kept_and_taken_away(admin: Client, pool: Queue) -> None:
    answer = await admin.patch(POOL, json={"max_depth": 5, "rate": 0.5})
    assert answer.status_code == 200
    assert (answer.json()["name"], answer.json()["max_depth"], answer.json()["rate"], answer.json()["burst"]) == (
        "builds", 5, 0.5, 1,
    )  # fmt: skip
    kept = (await admin.patch(POOL, json={"burst": 3})).json()
    assert (kept["max_depth"], kept["rate"], kept["burst"]) == (5, 0.5, 3)
    gone = (await admin.patch(POOL, json={"rate": None})).json()
    assert (gone["max_depth"], gone["rate"], gone["burst"]) == (5, None, None)
    assert (await admin.patch(POOL, json={"max_depth": None})).json()["max_depth"] is None
    for body in ({"burst": 3}, {"rate": None, "burst": 3}):
        answer = await admin.patch(POOL, json=body)
        assert (answer.status_code, answer.json()["detail"]) == (
            422, 'burst: pool "builds" has no rate (give the rate too)',
        )  # fmt: skip


async def test_kinds_and_keys_are_limited(admin: Client, pool: Queue, database: Database) -> None:
    assert (await admin.put(f"{POOL}/kinds", json={"kind": "mail", "rate": 5, "burst": 20})).status_code == 204
    assert await database.value(KIND) == "(5,20)"
    assert (await admin.put(f"{POOL}/kinds", json={"kind": "mail", "rate": None})).status_code == 204
    assert await database.value(KIND) == "(,)"
    assert (await admin.put(f"{POOL}/keys", json={"key": "ann", "limit": 3, "rate": 2})).status_code == 204
    assert await database.value(KEY) == "(3,2,2)"
    assert (await admin.put(f"{POOL}/keys", json={"key": "ann", "rate": 2})).status_code == 204
    assert await database.value(KEY) == "(,2,2)"


async def test_a_pool_rests_and_goes_on(admin: Client, pool: Queue) -> None:
    runner = await Incarnation.register(pool.database, Registration(name="r1", pool="builds", kinds=("*",)))
    assert (await admin.post(f"{POOL}/pause")).status_code == 204
    assert not (await runner.step(1)).jobs
    assert (await admin.post(f"{POOL}/resume")).status_code == 204
    assert (await runner.step(1)).jobs


async def test_a_mistyped_pool_is_not_made(admin: Client, pool: Queue) -> None:
    wrong = POOL.replace("builds", "bilds")
    for answer in (
        await admin.patch(wrong, json={"rate": 5}), await admin.put(f"{wrong}/kinds", json={"kind": "a", "rate": 5}),
        await admin.put(f"{wrong}/keys", json={"key": "a", "rate": 5}), await admin.post(f"{wrong}/pause"),
        await admin.post(f"{wrong}/resume"),
    ):  # fmt: skip
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert [each["name"] for each in (await admin.get("/v1/pools")).json()["pools"]] == ["builds"]
    made = await admin.patch(POOL.replace("builds", "shop"), json={"rate": 5, "create": True})
    assert (made.status_code, made.json()["rate"]) == (200, 5)


CHANGES = [
    ("PATCH", "", {"rate": 5}), ("PUT", "/kinds", {"kind": "mail", "rate": 5}), ("PUT", "/keys", {"key": "a"}),
    ("POST", "/pause", None), ("POST", "/resume", None),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
async def test_they_are_changed_by_admins_of_the_pool_who_may_write(
    site: Site, address: str, producer: Client, pool: Queue, method: str, path: str, body: object
) -> None:
    looking = await site.client(address, await site.tokens.create("ak", read_only=True))
    other = await site.client(address, await site.tokens.create("ak", pool="shop"))
    for client, word in ((producer, "not_allowed"), (other, "not_allowed"), (looking, "read_only")):
        answer = await client.request(method, POOL + path, json=body)
        assert (answer.status_code, answer.json()["error"]) == (403, word)
    mine = await site.client(address, await site.tokens.create("ak", pool="builds"))
    assert (await mine.request(method, POOL + path, json=body)).status_code in (200, 204)


async def test_how_well_the_database_is_is_told_to_admins_of_all_of_it(
    site: Site, address: str, admin: Client, producer: Client
) -> None:
    told = (await admin.get("/cluster/database")).json()
    assert told["history_late"] == 0
    mine = await site.client(address, await site.tokens.create("ak", pool="builds"))
    for client in (mine, producer):
        answer = await client.get("/cluster/database")
        assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
