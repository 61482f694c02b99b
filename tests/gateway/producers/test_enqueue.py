"""What a producer sends is what is stored, and what is wrong with it is said before anything is."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.conftest import Client, Site
from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import JobDetail

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def seen(queue: Queue, job: int) -> JobDetail:
    found = await Reader(queue.database).job_detail(JobId(job))
    assert found is not None
    return found


async def stored(queue: Queue) -> int:
    return int(await queue.database.value("SELECT count(*) FROM paceline.job"))


async def test_every_field_of_a_job_arrives(producer: Client, queue: Queue) -> None:
    run_at = datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)
    body = {
        "kind": "mail", "payload": {"to": ["ada", None, 1.5]}, "priority": 9, "run_at": run_at.isoformat(),
        "expires_at": (run_at + timedelta(days=1)).isoformat(), "key": "ada", "key_limit": 3, "dedupe": "once",
        "tags": ["linux", "gpu"], "tolerations": ["gpu=bad:NoClaim"], "max_tries": 2, "max_losses": 1,
        "timeout_seconds": 2.5, "traceparent": TRACE, "pool": "builds",
    }  # fmt: skip
    answer = await producer.post("/v1/jobs", json=body)
    assert answer.status_code == 201
    job = await seen(queue, answer.json()["id"])
    assert (job.pool, job.kind, job.payload, job.priority) == ("builds", "mail", {"to": ["ada", None, 1.5]}, 9)
    assert (job.run_at, job.expires_at) == (run_at, run_at + timedelta(days=1))
    assert (job.key, job.dedupe, job.tags, job.tolerations) == ("ada", "once", ("gpu", "linux"), ("gpu=bad:NoClaim",))
    assert (job.max_tries, job.max_losses, job.timeout_ms, job.trace) == (2, 1, 2500, TRACE)
    assert await queue.database.value("SELECT max_running FROM paceline.key") == 3
    told = (await producer.get(f"/v1/jobs/{job.id}")).json()
    assert (told["payload"], told["traceparent"], told["run_at"]) == (job.payload, TRACE, "2099-01-02T03:04:05Z")


async def test_spans_are_seconds_by_the_clock_of_the_database(producer: Client, queue: Queue) -> None:
    body = {"kind": "mail", "delay_seconds": 3600, "expires_in_seconds": 7200.5}
    job = await seen(queue, (await producer.post("/v1/jobs", json=body)).json()["id"])
    assert job.run_at is not None
    assert job.expires_at is not None
    assert job.run_at - job.enqueued_at == timedelta(hours=1)
    assert job.expires_at - job.enqueued_at == timedelta(seconds=7200.5)


@pytest.mark.parametrize("form", ["list", "object"])
async def test_many_are_told_in_their_order(producer: Client, queue: Queue, form: str) -> None:
    jobs = [{"kind": f"kind{number % 7}", "payload": number} for number in range(200)]
    answer = await producer.post("/v1/jobs", json=jobs if form == "list" else {"jobs": jobs})
    assert answer.status_code == 201
    made = answer.json()["jobs"]
    assert all(each["created"] for each in made)
    assert [(await seen(queue, each["id"])).payload for each in made] == list(range(200))


async def test_of_many_with_a_bad_one_none_is_stored_and_the_error_says_which(producer: Client, queue: Queue) -> None:
    jobs: list[dict[str, Any]] = [{"kind": "mail"}, {"kind": "mail", "priority": 12}]
    by_the_sdk = await producer.post("/v1/jobs", json=jobs)
    assert by_the_sdk.json()["detail"].startswith("jobs.1: priority 12 is out of range")
    jobs[1] = {"kind": "mail", "colour": "red"}
    by_its_shape = await producer.post("/v1/jobs", json={"jobs": jobs})
    assert "jobs.1.colour" in by_its_shape.json()["detail"]
    assert (by_the_sdk.status_code, by_its_shape.status_code) == (422, 422)
    assert await stored(queue) == 0


async def test_ten_thousand_fit_and_one_more_does_not(producer: Client, queue: Queue) -> None:
    assert (await producer.post("/v1/jobs", json=[{"kind": "mail"}] * 10_001)).status_code == 422
    assert await stored(queue) == 0
    answer = await producer.post("/v1/jobs", json=[{"kind": "mail"}] * 10_000)
    assert len({each["id"] for each in answer.json()["jobs"]}) == 10_000


async def test_a_duplicate_is_told(producer: Client) -> None:
    body = {"kind": "mail", "dedupe": "ada"}
    first, second = [(await producer.post("/v1/jobs", json=body)).json() for _ in range(2)]
    assert (first["created"], second) == (True, {"id": first["id"], "created": False})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("colour", "red"), ("priority", 10), ("priority", "5"), ("priority", True), ("priority", 2.5), ("kind", "a b"),
        ("kind", None), ("delay_seconds", -1), ("delay_seconds", 1e300), ("expires_in_seconds", 1e12),
        ("timeout_seconds", 1e8), ("run_at", "2030-01-01T00:00:00"), ("run_at", "tomorrow"), ("key", ""),
        ("key", "x" * 513), ("key_limit", 3), ("max_tries", 0), ("max_tries", 10**20), ("max_losses", -1),
        ("tags", "linux"), ("tags", ["a b"]), ("tolerations", ["gpu:Nope"]), ("dedupe", "a\0b"), ("payload", "a\0b"),
        ("payload", "x" * 2**20), ("traceparent", 7), ("pool", 5),
    ],
)  # fmt: skip
async def test_a_bad_value_is_refused_by_the_name_of_its_field(
    producer: Client, queue: Queue, field: str, value: object
) -> None:
    answer = await producer.post("/v1/jobs", json={"kind": "mail", field: value})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    assert field.removesuffix("_seconds").rstrip("s") in answer.json()["detail"]
    assert await stored(queue) == 0


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"7", b'"mail"', b"[]", b'{"jobs": []}', b'{"jobs": 7}', b"\xff\xfe",
        b'{"kind": "\\ud800"}',
        b'{"kind": "mail", "payload": NaN}', b'{"kind": "mail", "payload": ' + b"[" * 100_000,
        b'{"kind": "mail", "payload": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"kind": "mail", "payload": "\\ud800"}', b'{"kind": "mail", "run_at": "0001-01-01T00:00:00+23:00"}',
    ],
)  # fmt: skip
async def test_what_is_no_job_is_refused_in_the_same_form(producer: Client, queue: Queue, body: bytes) -> None:
    answer = await producer.post("/v1/jobs", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert await stored(queue) == 0


async def test_a_number_of_64_bits_is_told_exactly(producer: Client, queue: Queue) -> None:
    await queue.database.value("SELECT setval('paceline.job_id_seq', 9007199254740993)")
    answer = await producer.post("/v1/jobs", json={"kind": "mail"})
    assert json.loads(answer.text)["id"] == 9007199254740994
    assert (await producer.get("/v1/jobs/9007199254740994")).json()["id"] == 9007199254740994


@pytest.mark.parametrize("given", [TRACE, "nonsense", "00-" + "x" * 600])
async def test_the_trace_of_a_request_is_handed_on_and_nonsense_is_not(
    producer: Client, queue: Queue, given: str
) -> None:
    answer = await producer.post("/v1/jobs", json={"kind": "mail"}, headers={"traceparent": given})
    assert (await seen(queue, answer.json()["id"])).trace == (given if given == TRACE else None)


async def test_a_token_without_a_pool_names_one_or_uses_default(site: Site, address: str, queue: Queue) -> None:
    anywhere = await site.client(address, await site.tokens.create("pk"))
    pools = []
    for named in ({"pool": "shop"}, {}):
        answer = await anywhere.post("/v1/jobs", json={"kind": "mail", **named})
        pools.append((await seen(queue, answer.json()["id"])).pool)
    assert pools == ["shop", "default"]
    bad = await anywhere.post("/v1/jobs", json={"kind": "mail", "pool": "No Pool"})
    assert (bad.status_code, bad.json()["error"]) == (422, "invalid")


async def test_a_token_for_looking_changes_nothing(site: Site, address: str, producer: Client, queue: Queue) -> None:
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    looking = await site.client(address, await site.tokens.create("ak", read_only=True))
    assert (await looking.get(f"/v1/jobs/{job}")).status_code == 200
    cron = {"schedule": "0 8 * * *", "job": {"kind": "mail"}}
    for method, path, body in (
        ("POST", "/v1/jobs", {"kind": "mail"}), ("POST", "/v1/call", {"kind": "mail"}),
        ("POST", f"/v1/jobs/{job}/cancel", None), ("POST", f"/v1/jobs/{job}/retry", None),
        ("POST", "/v1/dead/redrive", {"all": True}), ("POST", "/v1/dead/purge", {"all": True}),
        ("PUT", "/v1/cron/nightly", cron), ("DELETE", "/v1/cron/nightly", None),
        ("POST", "/v1/cron/nightly/pause", None), ("POST", "/v1/cron/nightly/resume", None),
    ):  # fmt: skip
        answer = await looking.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]) == (403, "read_only"), path
    assert await stored(queue) == 1
