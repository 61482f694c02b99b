"""Groups by the gateway: what a token of one pool does not see and cannot change."""

from datetime import UTC, datetime

import pytest

from gateway.conftest import Client
from gateway.door.conftest import Door
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.operating import Operating
from paceline.reading import Reader
from paceline.scaling import DecisionSeen, ScalingKept


@pytest.fixture
async def two(database: Database) -> dict[str, int]:
    """ci/builds and web/shop, each with a leader, a decision, and a pool of its own; their ids."""
    operating, made = Operating(database), {}
    for namespace, name in (("ci", "builds"), ("web", "shop")):
        group = await operating.put_group(install="main", namespace=namespace, name=name, pool=name, leader=True)
        await operating.put_scaling(group, 1)
        decision = DecisionSeen(
            at=datetime.now(UTC),
            was=0,
            replicas=1,
            reason="DesiredWithinRange",
            limited_by=None,
            inputs={},
            proposals=[],
        )
        await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=[decision])])
        for number in (1, 2):
            where = Registration(
                name=f"{name}-{number}", pool="", kinds=("*",), install="main", namespace=namespace, group=name
            )
            await Incarnation.register(database, where)
        made[name] = group
    return made


async def client(site: Door, address: str, kind: str = "ak", **token: object) -> Client:
    return await site.client(address, await site.tokens.create(kind, **token))  # type: ignore[arg-type]


async def leaders(database: Database) -> dict[str, str | None]:
    return {each.name: each.leader for each in await Reader(database).snapshot()}


async def test_a_token_of_one_pool_sees_nothing_of_another(site: Door, address: str, two: dict[str, int]) -> None:
    mine = await client(site, address, pool="builds")
    assert [each["name"] for each in (await mine.get("/cluster/groups")).json()["groups"]] == ["builds"]
    runners = (await mine.get("/cluster/runners")).json()["runners"]
    assert {each["group"] for each in runners} == {"builds"}
    assert (await mine.get("/cluster/runners", params={"pool": "shop"})).status_code == 403
    assert (await mine.get("/cluster/unclaimable", params={"pool": "shop"})).status_code == 403
    path = "/cluster/groups/{}/decisions"
    assert len((await mine.get(path.format(two["builds"]))).json()["decisions"]) == 1
    hidden, missing = await mine.get(path.format(two["shop"])), await mine.get(path.format(999))
    assert (hidden.status_code, missing.status_code) == (404, 404)
    everything = await client(site, address)
    assert len((await everything.get("/cluster/groups")).json()["groups"]) == 2


async def test_a_token_of_one_pool_promotes_nobody_of_another(
    site: Door, address: str, two: dict[str, int], database: Database
) -> None:
    mine = await client(site, address, pool="builds")
    for choice in ({"runner": "shop-2"}, {"runner": "shop-2", "group": "web/shop"}, {"group": "web/shop"}):
        assert (await mine.post("/cluster/promote", json=choice)).status_code == 404
    assert await leaders(database) == {"builds": "builds-1", "shop": "shop-1"}
    said = await mine.post("/cluster/promote", json={"runner": "builds-2"})
    assert (said.status_code, said.json()["leader"]) == (200, "builds-2")
    assert await leaders(database) == {"builds": "builds-2", "shop": "shop-1"}


async def test_who_may_only_look_promotes_nobody(
    site: Door, address: str, two: dict[str, int], database: Database
) -> None:
    looking, producer = await client(site, address, read_only=True), await client(site, address, "pk", pool="builds")
    answer = await looking.post("/cluster/promote", json={"runner": "builds-2"})
    assert (answer.status_code, answer.json()["error"]) == (403, "read_only")
    for path in ("groups", "runners", "unclaimable", f"groups/{two['builds']}/decisions"):
        assert (await looking.get(f"/cluster/{path}")).status_code == 200
        assert (await producer.get(f"/cluster/{path}")).status_code == 403
    assert await leaders(database) == {"builds": "builds-1", "shop": "shop-1"}


async def test_a_promotion_that_names_nobody_is_refused(admin: Client, two: dict[str, int]) -> None:
    answer = await admin.post("/cluster/promote", json={})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    assert (await admin.post("/cluster/promote", json={"runer": "builds-2"})).status_code == 422
