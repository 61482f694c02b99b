"""Runners by the page: shown by fifties, drained, and tainted beside what others have tainted."""

import pytest

from dashboard.conftest import API
from gateway.conftest import Client
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.reading import Reader
from paceline_gateway.dashboard.runners import PAGE

RUNNERS = f"{API}/runners"


async def registered(database: Database, name: str = "r1", pool: str = "builds") -> Incarnation:
    return await Incarnation.register(database, Registration(name=name, pool=pool, kinds=("*",)))


@pytest.fixture
async def one(database: Database) -> Incarnation:
    return await registered(database)


async def test_a_page_has_fifty_however_many_there_are(database: Database, person: Client) -> None:
    assert PAGE == 50
    for n in range(PAGE + 3):
        await registered(database, f"r{n:03}")
    first = (await person.get(RUNNERS)).json()
    assert (len(first["runners"]), first["total"], first["pages"]) == (PAGE, PAGE + 3, 2)
    second = (await person.get(RUNNERS, params={"page": 2})).json()
    names = [each["id"] for each in first["runners"] + second["runners"]]
    assert names == sorted(f"r{n:03}" for n in range(PAGE + 3))
    beyond = (await person.get(RUNNERS, params={"page": 9})).json()
    assert (beyond["page"], len(beyond["runners"])) == (2, 3)


async def test_they_are_found_by_state_and_by_part_of_a_name(database: Database, person: Client) -> None:
    await registered(database, "alpha")
    await (await registered(database, "beta")).drain()
    draining = (await person.get(RUNNERS, params={"state": "draining"})).json()
    assert [each["id"] for each in draining["runners"]] == ["beta"]
    assert draining["states"] == {"active": 1, "draining": 1}
    assert [each["id"] for each in (await person.get(RUNNERS, params={"text": "lph"})).json()["runners"]] == ["alpha"]


async def test_a_runner_that_is_drained_claims_nothing(database: Database, person: Client, one: Incarnation) -> None:
    assert (await person.post(f"{RUNNERS}/{one.runner}/drain")).status_code == 204
    (seen,) = await Reader(database).list_runners("builds")
    assert seen.state == "draining"
    assert (await one.step(1)).jobs == ()


async def test_one_that_is_gone_cannot_be_drained(database: Database, person: Client, one: Incarnation) -> None:
    await one.fence("LeaseExpired")
    answer = await person.post(f"{RUNNERS}/{one.runner}/drain")
    assert (answer.status_code, answer.json()["error"]) == (409, "stale")
    assert (await person.post(f"{RUNNERS}/999/drain")).status_code == 404


async def test_taints_from_here_do_not_touch_those_of_others(person: Client, one: Incarnation) -> None:
    await one.taint("gpu=bad:NoClaim")  # its own, by the command line
    place = f"{RUNNERS}/{one.runner}/taints"
    assert (await person.put(place, json={"taints": "maint:NoLead, slow=yes:PreferNoClaim"})).status_code == 204
    assert (await person.get(place)).json() == [
        {"source": "api", "taint": "maint:NoLead"},
        {"source": "api", "taint": "slow=yes:PreferNoClaim"},
        {"source": "cli", "taint": "gpu=bad:NoClaim"},
    ]
    assert (await person.put(place, json={"taints": ""})).status_code == 204
    assert (await person.get(place)).json() == [{"source": "cli", "taint": "gpu=bad:NoClaim"}]


async def test_a_taint_that_is_none_says_what_is_wrong(person: Client, one: Incarnation) -> None:
    answer = await person.put(f"{RUNNERS}/{one.runner}/taints", json={"taints": "gpu=bad:NoClam"})
    assert answer.status_code == 422
    assert 'unknown effect "NoClam" (use NoClaim, PreferNoClaim, NoLead or Drain)' in answer.json()["detail"]
