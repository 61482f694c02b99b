"""Jobs over HTTP: put in, followed, taken out; and what a token does not let one see."""

import asyncio

import pytest

from gateway.conftest import Client, Site, until
from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader


async def test_one_job_and_many(producer: Client, queue: Queue) -> None:
    one = await producer.post("/v1/jobs", json={"kind": "mail", "payload": {"to": "ada"}, "priority": 7})
    assert one.status_code == 201
    many = await producer.post("/v1/jobs", json={"jobs": [{"kind": "mail"}, {"kind": "thumb", "delay_seconds": 60}]})
    assert [each["created"] for each in many.json()["jobs"]] == [True, True]
    seen = await Reader(queue.database).job_detail(JobId(one.json()["id"]))
    assert seen is not None
    assert (seen.pool, seen.kind, seen.payload, seen.priority) == ("builds", "mail", {"to": "ada"}, 7)
    listed = (await producer.get("/v1/jobs", params={"kind": "thumb"})).json()
    assert [each["state"] for each in listed["jobs"]] == ["scheduled"]


async def test_what_comes_together_is_one_transaction_and_each_gets_its_own_answer(
    producer: Client, queue: Queue
) -> None:
    bad = producer.post("/v1/jobs", json={"kind": "mail", "priority": 12})
    good = [producer.post("/v1/jobs", json={"kind": "mail", "payload": number}) for number in range(20)]
    refused, *made = await asyncio.gather(bad, *good)
    assert refused.status_code == 422
    assert "priority 12 is out of range" in refused.json()["detail"]
    reader = Reader(queue.database)
    payloads = [(await reader.job_detail(JobId(each.json()["id"]))).payload for each in made]  # type: ignore[union-attr]
    assert payloads == list(range(20))


async def test_a_full_pool_is_told_and_takes_what_fits(producer: Client, queue: Queue) -> None:
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 3)")
    answers = await asyncio.gather(*[producer.post("/v1/jobs", json={"kind": "mail"}) for _ in range(5)])
    assert sorted(each.status_code for each in answers) == [201, 201, 201, 429, 429]
    full = next(each for each in answers if each.status_code == 429)
    assert full.json()["error"] == "pool_full"
    assert full.headers["retry-after"]
    assert full.headers["content-type"] == "application/problem+json"


async def test_the_same_key_makes_the_same_jobs_once(producer: Client, queue: Queue) -> None:
    body, key = {"jobs": [{"kind": "mail"}, {"kind": "mail"}]}, {"Idempotency-Key": "order-7"}
    answers = await asyncio.gather(*[producer.post("/v1/jobs", json=body, headers=key) for _ in range(5)])
    ids = {tuple(each["id"] for each in answer.json()["jobs"]) for answer in answers}
    assert len(ids) == 1
    assert sum(answer.json()["jobs"][0]["created"] for answer in answers) == 1
    other = await producer.post("/v1/jobs", json={"kind": "mail"}, headers=key)
    assert (other.status_code, other.json()["error"]) == (422, "idempotency_mismatch")
    assert len(await Reader(queue.database).list_jobs("builds")) == 2


async def test_jobs_of_another_pool_are_as_unknown_as_those_that_are_not_there(
    site: Site, address: str, producer: Client
) -> None:
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    other = await site.client(address, await site.tokens.create("pk", pool="shop"))
    for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/logs"):
        hidden, missing = await other.get(path), await other.get(path.replace(str(job), "999"))
        assert (hidden.status_code, missing.status_code) == (404, 404)
    for verb in ("cancel", "retry"):
        assert (await other.post(f"/v1/jobs/{job}/{verb}")).status_code == 404
    assert (await other.post("/v1/jobs", json={"kind": "mail", "pool": "builds"})).status_code == 403
    assert (await producer.get(f"/v1/jobs/{job}")).json()["state"] == "ready"


async def test_a_job_is_cancelled_and_a_dead_one_redriven(producer: Client, queue: Queue) -> None:
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    assert (await producer.post(f"/v1/jobs/{job}/cancel")).json() == {"id": job, "answer": "cancelled"}
    assert (await producer.get(f"/v1/jobs/{job}")).json()["state"] == "cancelled"


async def test_who_waits_is_told_of_the_end(producer: Client, queue: Queue) -> None:
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    waiting = asyncio.create_task(producer.get(f"/v1/jobs/{job}", params={"wait": 30}))
    await until(lambda: queue.database.value("SELECT awaited FROM paceline.job WHERE id = $1", job))
    await queue.cancel(JobId(job))
    assert (await waiting).json()["state"] == "cancelled"


@pytest.mark.parametrize(
    ("body", "word"),
    [({"kind": "mail", "colour": 1}, "colour"), ({"kind": ""}, "kind"), ({"payload": 1}, "kind"), ([], "body")],
)
async def test_bad_input_names_the_field(producer: Client, body: object, word: str) -> None:
    answer = await producer.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    assert word in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
