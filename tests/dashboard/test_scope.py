"""A token of one pool sees nothing of another, by whatever route of the dashboard."""

import json

import pytest

from dashboard.conftest import API, signed_in
from gateway.conftest import Client
from gateway.door.conftest import Door
from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.cron import Cron, CronEntry
from paceline.database import Database
from paceline.job import NewJob
from paceline.queue import Queue

POOLS = ("builds", "secret")


@pytest.fixture
async def both(database: Database) -> dict[str, Incarnation]:
    """Two pools with one of everything."""
    made = {}
    for pool in POOLS:
        queue = Queue(database, pool)
        await queue.enqueue_many([NewJob(kind=f"{pool}-kind") for _ in range(3)])
        made[pool] = await Incarnation.register(database, Registration(name=f"{pool}-r1", pool=pool, kinds=("*",)))
        done, failed = (await made[pool].step(2)).jobs
        await made[pool].step(0, [Finished(done)])
        await made[pool].fail([Failed(failed, f"{pool}-error", None)])
        await Cron(database, pool).put(CronEntry(name=f"{pool}-cron", schedule="0 3 * * *", job=NewJob(kind="x")))
    await database.value("UPDATE paceline.tick SET next_at = '-infinity', sampled_at = '-infinity'")
    await Queue(database).tick()
    return made


@pytest.fixture
async def narrow(site: Door, address: str) -> Client:
    return await signed_in(site, address, await site.tokens.create("ak", pool="builds"))


@pytest.mark.parametrize("path", ["pools", "pools/depths", "runners", "jobs", "finished", "dead", "cron"])
async def test_lists_have_its_own_pool_alone(both: object, narrow: Client, person: Client, path: str) -> None:
    everything = (await person.get(f"{API}/{path}")).text
    assert "builds" in everything
    assert "secret" in everything
    shown = await narrow.get(f"{API}/{path}")
    assert shown.status_code == 200
    assert "builds" in shown.text
    assert "secret" not in shown.text


OTHERS = ["pools/secret/past", *(f"{each}?pool=secret" for each in ("runners", "jobs", "finished", "dead", "cron"))]


@pytest.mark.parametrize("path", OTHERS)
async def test_another_pool_is_refused(both: object, narrow: Client, path: str) -> None:
    answer = await narrow.get(f"{API}/{path}")
    assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")


async def test_the_stream_has_its_own_pool_alone(both: object, narrow: Client) -> None:
    async with narrow.stream("GET", f"{API}/stream") as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                assert [each["name"] for each in json.loads(line[6:])] == ["builds"]
                break


async def test_a_runner_of_another_pool_is_unknown(both: dict[str, Incarnation], narrow: Client) -> None:
    place = f"{API}/runners/{both['secret'].runner}"
    for method, path, body in (("POST", "drain", None), ("GET", "taints", None), ("PUT", "taints", {"taints": ""})):
        answer = await narrow.request(method, f"{place}/{path}", json=body)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), path
