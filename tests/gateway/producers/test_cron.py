"""Cron entries over HTTP: what is put is what is shown, and what fires."""

from typing import Any

import pytest

from gateway.conftest import Client, Site, until
from paceline.queue import Queue
from paceline.reading import Reader

FIRED = "SELECT bool_and(paused OR next_at > clock_timestamp()) FROM paceline.cron"
ENTRY: dict[str, Any] = {
    "schedule": "30 2 * * *", "timezone": "Europe/Berlin", "overlap": "allow", "stamp": "tick",
    "job": {
        "kind": "report", "payload": {"size": 3}, "priority": 7, "delay_seconds": 1.5, "expires_in_seconds": 3600.0,
        "key": "report", "key_limit": 2, "dedupe": "one", "tags": ["gpu", "linux"],
        "tolerations": ["gpu=bad:NoClaim", "spot"], "max_tries": 2, "max_losses": 1, "timeout_seconds": 90.25,
    },
}  # fmt: skip


async def due_now(queue: Queue) -> None:
    """Its tick has come."""
    await queue.database.value("UPDATE paceline.cron SET next_at = clock_timestamp() - interval '1 second'")
    await queue.tick()
    await until(lambda: queue.database.value(FIRED))  # the gateway may have been the first


async def test_what_was_put_is_shown_and_can_be_put_again(producer: Client) -> None:
    put = await producer.put("/v1/cron/nightly", json=ENTRY)
    assert put.status_code == 200
    shown = (await producer.get("/v1/cron/nightly")).json()
    assert (shown["name"], shown["next_at"], shown["last_at"], shown["paused"]) == (
        "nightly", put.json()["next_at"], None, False,
    )  # fmt: skip
    assert {name: shown[name] for name in ENTRY if name != "job"} == {k: v for k, v in ENTRY.items() if k != "job"}
    assert {name: shown["job"][name] for name in ENTRY["job"]} == ENTRY["job"]
    again = {name: shown[name] for name in ENTRY}
    assert (await producer.put("/v1/cron/nightly", json=again)).json() == put.json()
    assert (await producer.get("/v1/cron")).json() == {"entries": [shown]}


async def test_it_makes_the_job_that_was_put(producer: Client, queue: Queue) -> None:
    await producer.put("/v1/cron/nightly", json={"schedule": "30 2 * * *", "job": {"kind": "report", "priority": 7}})
    await due_now(queue)
    (job,) = await Reader(queue.database).list_jobs("builds")
    assert (job.kind, job.priority) == ("report", 7)
    assert (await producer.get("/v1/cron/nightly")).json()["last_at"] is not None


async def test_one_that_skips_makes_none_while_one_is_live_and_says_so(producer: Client, queue: Queue) -> None:
    entry = {"schedule": "* * * * *", "overlap": "skip", "job": {"kind": "report"}}
    await producer.put("/v1/cron/often", json=entry)
    for _ in range(2):
        await due_now(queue)
    assert len(await Reader(queue.database).list_jobs("builds")) == 1
    shown = (await producer.get("/v1/cron/often")).json()
    assert (shown["overlap"], shown["job"]["dedupe"]) == ("skip", None)


async def test_it_rests_and_goes_on(producer: Client, queue: Queue) -> None:
    await producer.put("/v1/cron/nightly", json=ENTRY)
    assert (await producer.post("/v1/cron/nightly/pause")).status_code == 204
    await due_now(queue)
    assert not await Reader(queue.database).list_jobs("builds")
    assert (await producer.get("/v1/cron/nightly")).json()["paused"] is True
    assert (await producer.post("/v1/cron/nightly/resume")).status_code == 204
    assert (await producer.get("/v1/cron/nightly")).json()["paused"] is False


async def test_it_is_taken_away(producer: Client) -> None:
    await producer.put("/v1/cron/nightly", json=ENTRY)
    assert (await producer.delete("/v1/cron/nightly")).status_code == 204
    for method, path in (
        ("DELETE", "/v1/cron/nightly"), ("GET", "/v1/cron/nightly"), ("POST", "/v1/cron/nightly/pause"),
        ("POST", "/v1/cron/nightly/resume"),
    ):  # fmt: skip
        answer = await producer.request(method, path)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), path


async def test_a_name_may_have_what_names_may_have(producer: Client) -> None:
    name = "reports/daily:eu.west"
    assert (await producer.put(f"/v1/cron/{name}", json=ENTRY)).status_code == 200
    assert (await producer.post(f"/v1/cron/{name}/pause")).status_code == 204
    assert (await producer.get(f"/v1/cron/{name}")).json()["paused"] is True
    assert (await producer.delete(f"/v1/cron/{name}")).status_code == 204


async def test_entries_of_another_pool_are_not_to_be_had(site: Site, address: str, producer: Client) -> None:
    await producer.put("/v1/cron/nightly", json=ENTRY)
    other = await site.client(address, await site.tokens.create("pk", pool="shop"))
    assert (await other.get("/v1/cron")).json() == {"entries": []}
    assert (await other.get("/v1/cron", params={"pool": "builds"})).status_code == 403
    assert (await other.delete("/v1/cron/nightly")).status_code == 404
    assert (await other.delete("/v1/cron/nightly", params={"pool": "builds"})).status_code == 403


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"schedule": "99 * * * *"}, "schedule"), ({"timezone": "Mars/Base"}, "timezone"),
        ({"overlap": "maybe"}, "overlap"), ({"colour": 1}, "colour"),
        ({"job": {"kind": "report", "run_at": "2030-01-01T00:00:00Z"}}, "run_at"),
        ({"job": {"kind": "report", "payload": [1]}}, "stamp"), ({"job": {}}, "kind"),
    ],
)  # fmt: skip
async def test_a_bad_entry_is_refused_by_its_field(producer: Client, change: dict[str, Any], word: str) -> None:
    answer = await producer.put("/v1/cron/nightly", json={**ENTRY, **change})
    assert answer.status_code == 422
    assert word in answer.json()["detail"]
    assert (await producer.get("/v1/cron")).json() == {"entries": []}
