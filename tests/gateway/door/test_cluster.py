"""The cluster API: the same at the gateway as on a runner's own port, for whoever the token lets see it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gateway.conftest import Client, until
from gateway.door.conftest import Door
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.queue import Queue
from paceline.reading import Reader
from runner.process import RunnerProcess, seen, there

FIELDS = ["id", "hostname", "started_at", "last_heartbeat", "state", "instances_claimed"]
Face: TypeAlias = Callable[[str, str], Awaitable[tuple[int, str]]]


@pytest.fixture
async def process(migrated: str, tmp_path: Path) -> AsyncIterator[RunnerProcess]:
    """The runner `r1` of the pool `builds`."""
    made = await RunnerProcess.start(migrated, tmp_path, "r1", PACELINE_STALE_THRESHOLD_SECS="60")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(made.end)
        await made.said("registered as")
        await made.said("listening on")
        yield made


@pytest.fixture(params=["its own port", "the gateway"])
def face(request: pytest.FixtureRequest, process: RunnerProcess, admin: Client) -> Face:
    async def own(method: str, path: str) -> tuple[int, str]:
        return await process.get(path, method)

    async def gateway(method: str, path: str) -> tuple[int, str]:
        answer = await admin.request(method, path)
        return answer.status_code, answer.text

    return own if request.param == "its own port" else gateway


# both faces


async def test_a_node_is_shown_with_what_it_holds(
    face: Face, queue: Queue, process: RunnerProcess, tmp_path: Path
) -> None:
    await queue.enqueue("wait", "go")
    await there(tmp_path / "begun")
    status, text = await face("GET", "/cluster/nodes")
    (node,) = json.loads(text)
    assert status == 200
    assert list(node) == FIELDS
    (row,) = await Reader(queue.database).list_runners("builds")
    assert (node["id"], node["hostname"]) == ("r1", row.hostname)
    assert (node["state"], node["instances_claimed"]) == ("active", 1)
    for moment in ("started_at", "last_heartbeat"):
        assert abs((datetime.fromisoformat(node[moment]) - row.started_at).total_seconds()) < 60
    (tmp_path / "go").touch()


async def test_a_drained_node_claims_nothing_finishes_and_leaves(
    face: Face, queue: Queue, process: RunnerProcess, tmp_path: Path
) -> None:
    running = await queue.enqueue("wait", "go")
    await there(tmp_path / "begun")
    assert await face("POST", "/cluster/nodes/r1/drain") == (200, "")
    assert await face("POST", "/cluster/nodes/r1/drain") == (200, ""), "a second time changes nothing"
    await process.said("draining")
    (node,) = json.loads((await face("GET", "/cluster/nodes"))[1])
    assert (node["state"], node["instances_claimed"]) == ("draining", 1)
    later = await queue.enqueue("count")
    (tmp_path / "go").touch()
    assert await process.ended() == 0
    assert ((await seen(queue, running.id)).state, (await seen(queue, later.id)).state) == ("done", "ready")


async def test_a_node_that_nobody_knows_is_not_found(face: Face) -> None:
    assert (await face("POST", "/cluster/nodes/r2/drain"))[0] == 404


# the gateway alone


async def register(database: Database, name: str, **where: Any) -> Incarnation:
    return await Incarnation.register(database, Registration(name=name, kinds=("*",), **where))


async def states(database: Database) -> dict[tuple[str, str], str]:
    return {(each.pool, each.id): each.state for each in await Reader(database).list_runners()}


async def test_a_token_shows_and_drains_the_runners_of_its_pool_alone(
    site: Door, address: str, database: Database
) -> None:
    for pool in ("builds", "shop"):
        await register(database, f"of-{pool}", pool=pool)
    builds = await site.client(address, await site.tokens.create("ak", pool="builds"))
    assert [node["id"] for node in (await builds.get("/cluster/nodes")).json()] == ["of-builds"]
    assert (await builds.post("/cluster/nodes/of-shop/drain")).status_code == 404
    everything = await site.client(address, await site.tokens.create("ak"))
    assert len((await everything.get("/cluster/nodes")).json()) == 2
    assert set((await states(database)).values()) == {"active"}


async def test_who_may_only_look_drains_nobody(site: Door, address: str, database: Database) -> None:
    await register(database, "r1", pool="builds")
    looking = await site.client(address, await site.tokens.create("ak", read_only=True))
    assert (await looking.get("/cluster/nodes")).status_code == 200
    answer = await looking.post("/cluster/nodes/r1/drain")
    assert (answer.status_code, answer.json()["error"]) == (403, "read_only")
    producer = await site.client(address, await site.tokens.create("pk", pool="builds"))
    assert (await producer.post("/cluster/nodes/r1/drain")).status_code == 403
    assert await states(database) == {("builds", "r1"): "active"}


async def test_an_id_that_several_have_needs_a_group(admin: Client, database: Database) -> None:
    for install, namespace in (("one", "ci"), ("one", "web"), ("two", "web")):
        await database.value(
            "SELECT paceline.put_group($1, $2, 'builds', $3)", install, namespace, f"{install}-{namespace}"
        )
        await register(
            database, "r1", pool=f"{install}-{namespace}", install=install, namespace=namespace, group="builds"
        )
    answer = await admin.post("/cluster/nodes/r1/drain")
    assert (answer.status_code, answer.json()["error"]) == (409, "ambiguous")
    assert answer.json()["groups"] == [
        {"group": "ci/builds", "install": "one"},
        {"group": "web/builds", "install": "one"},
        {"group": "web/builds", "install": "two"},
    ]
    assert (await admin.post("/cluster/nodes/r1/drain", params={"group": "ci/builds"})).status_code == 200
    assert (await admin.post("/cluster/nodes/r1/drain", params={"group": "web/builds"})).status_code == 409
    chosen = {"group": "web/builds", "install": "two"}
    assert (await admin.post("/cluster/nodes/r1/drain", params=chosen)).status_code == 200
    assert (await admin.post("/cluster/nodes/r1/drain", params={"group": "ci/nothing"})).status_code == 404
    found = await states(database)
    assert {pool: state for (pool, _), state in found.items()} == {
        "one-ci": "draining", "one-web": "active", "two-web": "draining",
    }  # fmt: skip


async def test_a_draining_predecessor_does_not_make_an_id_ambiguous(admin: Client, database: Database) -> None:
    old = await register(database, "r1", pool="builds")
    await old.drain()
    await register(database, "r1", pool="builds")
    assert (await admin.post("/cluster/nodes/r1/drain")).status_code == 200
    found = [each.state for each in await Reader(database).list_runners()]
    assert found == ["draining", "draining"]


async def test_one_that_was_lost_cannot_be_drained(admin: Client, database: Database) -> None:
    await register(database, "r1", pool="builds")
    await database.value("UPDATE paceline.incarnation SET lease_until = clock_timestamp()")

    async def is_lost() -> bool:
        return await states(database) == {("builds", "r1"): "stale"}

    await until(is_lost)
    answer = await admin.post("/cluster/nodes/r1/drain")
    assert (answer.status_code, answer.json()["error"]) == (409, "stale")
