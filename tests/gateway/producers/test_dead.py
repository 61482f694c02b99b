"""Dead letters over HTTP: found by filters, put back, thrown away; never those of another pool."""

from datetime import timedelta
from typing import Any

import pytest

from gateway.conftest import Client, Site, state
from paceline.claims import Failed, Incarnation, Registration
from paceline.job import JobId, NewJob
from paceline.queue import Queue


async def bury(queue: Queue, number: int, kind: str = "mail", cause: str = "Failed") -> list[JobId]:
    """Dead letters, in the order of their deaths."""
    made = [each.id for each in await queue.enqueue_many([NewJob(kind=kind)] * number)]
    runner = await Incarnation.register(queue.database, Registration(name="r1", pool=queue.pool, kinds=("*",)))
    for job in (await runner.step(number)).jobs:
        await runner.fail([Failed(job, "no")], cause)
    return made


async def listed(client: Client, **params: Any) -> list[int]:
    answer = await client.get("/v1/dead", params=params)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["dead"]]


async def test_they_are_listed_the_latest_first_and_narrowed(producer: Client, queue: Queue) -> None:
    mails, thumbs = await bury(queue, 2), await bury(queue, 1, "thumb", "TimedOut")
    assert await listed(producer) == [*thumbs, *reversed(mails)]
    assert await listed(producer, kind="mail") == mails[::-1]
    assert await listed(producer, cause="TimedOut") == thumbs
    died = (await producer.get("/v1/dead")).json()["dead"][0]["died_at"]
    assert await listed(producer, since=died) == thumbs
    assert await listed(producer, until=died) == [*thumbs, *reversed(mails)]


@pytest.mark.parametrize("payload", ["1e5000", "[" * 300 + "]" * 300, "[" * 2000 + "]" * 2000])
async def test_one_that_is_hard_to_read_hides_no_other(
    admin: Client, producer: Client, queue: Queue, payload: str
) -> None:
    """PostgreSQL takes it from any login that may enqueue."""
    good, bad = await bury(queue, 2)
    await queue.database.value("UPDATE paceline.dead SET payload = $2::jsonb WHERE id = $1", bad, payload)
    for client in (admin, producer):
        assert await listed(client) == [bad, good]
        shown = await client.get(f"/v1/jobs/{bad}")
        assert shown.status_code == 200, shown.text


async def test_the_next_page_does_not_need_the_last_one_to_be_there_still(producer: Client, queue: Queue) -> None:
    dead = (await bury(queue, 5))[::-1]
    first = (await producer.get("/v1/dead", params={"limit": 2})).json()
    await queue.redrive([dead[1]])
    second = (await producer.get("/v1/dead", params={"limit": 2, "after": first["next"]})).json()
    assert [each["id"] for each in first["dead"] + second["dead"]] == dead[:4]
    third = (await producer.get("/v1/dead", params={"limit": 2, "after": second["next"]})).json()
    assert ([each["id"] for each in third["dead"]], third["next"]) == (dead[4:], None)


@pytest.mark.parametrize("after", ["x", "1", "-", "1-x", "1-" + "9" * 30, "9" * 30 + "-1", "٣-1"])
async def test_a_page_that_is_none_is_told(producer: Client, after: str) -> None:
    answer = await producer.get("/v1/dead", params={"after": after})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")


async def test_they_are_put_back_by_their_ids(producer: Client, queue: Queue) -> None:
    one, two = await bury(queue, 2)
    answer = await producer.post("/v1/dead/redrive", json={"ids": [one, 999, one]})
    assert answer.json() == {"ids": [one], "left": [999], "more": False}
    assert (await state(queue, one), await state(queue, two)) == ("ready", "dead")


async def test_they_are_put_back_by_a_filter(producer: Client, queue: Queue) -> None:
    mails, thumbs = await bury(queue, 3), await bury(queue, 1, "thumb")
    answer = (await producer.post("/v1/dead/redrive", json={"kind": "mail"})).json()
    assert (sorted(answer["ids"]), answer["left"], answer["more"]) == (mails, [], False)
    assert await listed(producer) == thumbs


async def test_of_more_than_can_be_done_at_once_the_rest_is_told(
    producer: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.dead.MOST", 4)
    monkeypatch.setattr("paceline_gateway.dead.BATCH", 2)
    await bury(queue, 7)
    told = [(await producer.post("/v1/dead/redrive", json={"all": True})).json() for _ in range(2)]
    assert [(len(each["ids"]), each["more"]) for each in told] == [(4, True), (3, False)]


async def test_one_whose_dedupe_value_is_taken_is_left(producer: Client, queue: Queue) -> None:
    await queue.enqueue(NewJob(kind="mail", dedupe="ada"))
    runner = await Incarnation.register(queue.database, Registration(name="r1", pool="builds", kinds=("*",)))
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "no")])
    await queue.enqueue(NewJob(kind="mail", dedupe="ada"))
    answer = await producer.post("/v1/dead/redrive", json={"ids": [job.id]})
    assert answer.json() == {"ids": [], "left": [job.id], "more": False}


async def test_those_of_another_pool_are_left_alone(site: Site, address: str, queue: Queue) -> None:
    (dead,) = await bury(queue, 1)
    stranger = await site.client(address, await site.tokens.create("ak", pool="shop"))
    for verb in ("redrive", "purge"):
        answer = await stranger.post(f"/v1/dead/{verb}", json={"ids": [dead]})
        assert answer.json() == {"ids": [], "left": [dead], "more": False}
        for body in ({"ids": [dead], "pool": "builds"}, {"all": True, "pool": "builds"}):
            assert (await stranger.post(f"/v1/dead/{verb}", json=body)).status_code == 403
    assert await listed(stranger) == []
    assert await state(queue, dead) == "dead"


async def test_an_admin_throws_them_away_and_a_producer_does_not(admin: Client, producer: Client, queue: Queue) -> None:
    dead = await bury(queue, 2)
    refused = await producer.post("/v1/dead/purge", json={"ids": dead})
    assert (refused.status_code, refused.json()["error"]) == (403, "not_allowed")
    answer = await admin.post("/v1/dead/purge", json={"ids": dead})
    assert sorted(answer.json()["ids"]) == dead
    assert await listed(admin) == []


@pytest.mark.parametrize(
    "body",
    [{}, {"pool": "builds"}, {"ids": [1], "kind": "mail"}, {"ids": [1], "all": True}, {"ids": [0]}, {"ids": ["1"]},
     {"ids": [2**63]}, {"all": True, "colour": 1}, {"since": "yesterday"}, {"kind": ""}],
)  # fmt: skip
async def test_which_ones_are_meant_must_be_said(producer: Client, queue: Queue, body: dict[str, Any]) -> None:
    (dead,) = await bury(queue, 1)
    assert (await producer.post("/v1/dead/redrive", json=body)).status_code == 422
    assert await state(queue, dead) == "dead"


async def test_those_that_died_long_ago_are_chosen_by_time(producer: Client, queue: Queue) -> None:
    old, young = await bury(queue, 2)
    await queue.database.value("UPDATE paceline.dead SET died_at = died_at - $2::interval WHERE id = $1",
                               old, timedelta(days=3))  # fmt: skip
    now = (await queue.database.value("SELECT clock_timestamp() - interval '1 day'")).isoformat()
    assert (await producer.post("/v1/dead/redrive", json={"until": now})).json()["ids"] == [old]
    assert await state(queue, young) == "dead"
