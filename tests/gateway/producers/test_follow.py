"""Jobs are followed, listed page by page, and taken out; what their attempts wrote is shown."""

import asyncio
from datetime import timedelta

from gateway.conftest import Client, Registered, Site, until
from paceline.claims import Failed, Incarnation, Registration
from paceline.job import JobId, NewJob
from paceline.queue import Queue


async def claimed(queue: Queue, want: int = 1) -> Incarnation:
    """A runner that has taken jobs."""
    runner = await Incarnation.register(queue.database, Registration(name="r1", pool="builds", kinds=("*",)))
    await runner.step(want)
    return runner


async def test_a_list_is_read_page_by_page_and_the_last_one_says_so(producer: Client, queue: Queue) -> None:
    made = [each.id for each in await queue.enqueue_many([NewJob(kind="mail")] * 6)]
    found: list[int] = []
    after: dict[str, str] = {}
    pages = 0
    while True:
        page = (await producer.get("/v1/jobs", params={"limit": 2, **after})).json()
        found += [each["id"] for each in page["jobs"]]
        pages += 1
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert found == sorted(made, reverse=True)
    assert pages == 3


async def test_a_list_is_narrowed_by_state_and_kind(producer: Client, queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="thumb"), NewJob(kind="mail", delay=timedelta(hours=1))])
    scheduled = (await producer.get("/v1/jobs", params={"state": "scheduled"})).json()["jobs"]
    thumbs = (await producer.get("/v1/jobs", params={"kind": "thumb"})).json()["jobs"]
    assert ([each["kind"] for each in scheduled], [each["state"] for each in thumbs]) == (["mail"], ["ready"])
    for bad in ({"state": "dead"}, {"limit": 501}, {"limit": 0}, {"after": "x"}, {"after": str(2**63)}):
        assert (await producer.get("/v1/jobs", params=bad)).status_code == 422


async def test_a_list_shows_the_tokens_pool_only(
    site: Site, address: str, producer: Client, admin: Client, queue: Queue
) -> None:
    await queue.enqueue("mail")
    await Queue(queue.database, "shop").enqueue("mail")
    assert [each["pool"] for each in (await producer.get("/v1/jobs")).json()["jobs"]] == ["builds"]
    assert (await producer.get("/v1/jobs", params={"pool": "shop"})).status_code == 403
    assert len((await admin.get("/v1/jobs")).json()["jobs"]) == 2
    assert (await admin.get("/v1/jobs", params={"pool": "nowhere"})).status_code == 404


async def test_who_waits_in_vain_gets_what_there_is(producer: Client, queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    assert (await producer.get(f"/v1/jobs/{job}", params={"wait": 0.1})).json()["state"] == "ready"
    for bad in (-1, 301, "nan", "inf"):
        assert (await producer.get(f"/v1/jobs/{job}", params={"wait": bad})).status_code == 422


async def test_many_wait_for_one_job_at_two_gateways(site: Site, producer: Client, queue: Queue) -> None:
    other = await site.client(await site.start(), await site.tokens.create("pk", pool="builds"))
    job = (await queue.enqueue("mail")).id
    asked = {"params": {"wait": 30}}
    waiting = [asyncio.create_task(client.get(f"/v1/jobs/{job}", **asked)) for client in (producer, other) * 5]  # type: ignore[arg-type]
    await until(lambda: queue.database.value("SELECT awaited FROM paceline.job"))
    await queue.cancel(job)
    assert {answer.json()["state"] for answer in await asyncio.gather(*waiting)} == {"cancelled"}


async def test_a_job_that_runs_is_cancelled_by_its_runner(producer: Client, queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    runner = await claimed(queue)
    assert (await producer.post(f"/v1/jobs/{job}/cancel")).json() == {"id": job, "answer": "cancelling"}
    assert (await producer.get(f"/v1/jobs/{job}")).json()["cancelling"] is True
    assert (await runner.heartbeat()).cancelled == {job}


async def test_what_is_over_is_not_cancelled(producer: Client, queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    assert (await producer.post(f"/v1/jobs/{job}/cancel")).json()["answer"] == "cancelled"
    assert (await producer.post(f"/v1/jobs/{job}/cancel")).json()["answer"] == "finished"


async def test_a_dead_one_and_one_that_waits_for_its_time_are_tried_again(producer: Client, queue: Queue) -> None:
    dead = (await queue.enqueue("mail")).id
    runner = await claimed(queue)
    await queue.enqueue("mail")
    (held,) = (await runner.step(1)).jobs
    await runner.fail([Failed(held, "no")])
    waits = (await queue.enqueue(NewJob(kind="mail", delay=timedelta(hours=1)))).id
    for job, answer in ((held.id, "retried"), (held.id, "waiting"), (waits, "retried"), (dead, "running")):
        assert (await producer.post(f"/v1/jobs/{job}/retry")).json()["answer"] == answer


async def test_the_attempts_of_a_job_are_told_with_what_they_wrote(
    producer: Client, runner: Client, register: Registered
) -> None:
    me = await register()
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    about = {"incarnation": me, "fence": run["fence"], "error": "no luck", "output": "dialling…\n"}
    await runner.post(f"/runner/runs/{job}/fail", json={**about, "retry_in_seconds": 3600})
    (attempt,) = (await producer.get(f"/v1/jobs/{job}/logs")).json()["attempts"]
    assert (attempt["outcome"], attempt["error"], attempt["output"], attempt["runner"]) == (
        "failed", "no luck", "dialling…\n", "laptop",
    )  # fmt: skip


async def test_an_id_that_cannot_be_is_unknown(producer: Client) -> None:
    for job in ("0", "-1", str(2**63), "9" * 100):
        assert (await producer.get(f"/v1/jobs/{job}")).status_code == 404
    assert (await producer.get("/v1/jobs/x")).status_code == 422


async def test_a_job_of_another_pool_is_not_waited_for(
    site: Site, address: str, producer: Client, queue: Queue
) -> None:
    other = await site.client(address, await site.tokens.create("pk", pool="shop"))
    job = JobId((await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"])
    assert (await other.get(f"/v1/jobs/{job}", params={"wait": 30})).status_code == 404
    assert await queue.database.value("SELECT awaited FROM paceline.job") is None


async def test_pools_are_listed_with_what_is_in_them(producer: Client, admin: Client, queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 3)
    await Queue(queue.database, "shop").enqueue("mail")
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 7)")
    (own,) = (await producer.get("/v1/pools")).json()["pools"]
    assert (own["name"], own["ready"], own["max_depth"], own["paused"]) == ("builds", 3, 7, False)
    assert [each["name"] for each in (await admin.get("/v1/pools")).json()["pools"]] == ["builds", "shop"]
