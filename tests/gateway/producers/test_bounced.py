"""Producers at a gateway whose database is behind PgBouncer in transaction mode."""

import asyncio

from gateway.conftest import Client
from gateway.producers.test_cron import due_now
from paceline.queue import Queue
from paceline.reading import Reader
from support.bounced import postgres  # noqa: F401 -- it is for the fixtures


async def test_jobs_that_come_at_once_are_all_there(producer: Client, queue: Queue) -> None:
    answers = await asyncio.gather(*(
        producer.post("/v1/jobs", json={"kind": "mail", "payload": number}) for number in range(50)
    ))  # fmt: skip
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 50
    assert await queue.database.value("SELECT count(*) FROM paceline.job") == 50


async def test_a_request_that_comes_ten_times_at_once_is_done_once(producer: Client, queue: Queue) -> None:
    """Who comes second waits for the commit of the first, each on a connection that is lent for the transaction."""
    answers = await asyncio.gather(*(
        producer.post("/v1/jobs", json={"kind": "mail"}, headers={"Idempotency-Key": "order-7"}) for _ in range(10)
    ))  # fmt: skip
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.json()["created"] for answer in answers) == [False] * 9 + [True]
    assert await queue.database.value("SELECT count(*) FROM paceline.job") == 1


async def test_who_follows_a_job_is_told_although_nobody_is_woken(producer: Client, queue: Queue) -> None:
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    following = asyncio.create_task(producer.get(f"/v1/jobs/{job}", params={"wait": 30}))
    assert (await producer.post(f"/v1/jobs/{job}/cancel")).json()["answer"] == "cancelled"
    assert (await following).json()["state"] == "cancelled"


async def test_a_cron_entry_is_put_and_shown(producer: Client, queue: Queue) -> None:
    entry = {"schedule": "30 2 * * *", "job": {"kind": "report"}}
    assert (await producer.put("/v1/cron/nightly", json=entry)).status_code == 200
    await due_now(queue)
    (job,) = await Reader(queue.database).list_jobs("builds")
    assert job.kind == "report"
