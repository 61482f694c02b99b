"""Runs that were claimed in vain are counted, each once, whichever gateway finds out."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.conftest import Client, Registered, Site, until
from gateway.runners.client import dialled
from paceline.job import NewJob
from paceline.queue import Queue


async def failed(reason: str, *clients: Client) -> float:
    """As all gateways together have counted."""
    texts = [(await client.get("/metrics")).text for client in clients]
    found = [sample for text in texts for family in text_string_to_metric_families(text) for sample in family.samples]
    labels = {"reason": reason}
    return sum(each.value for each in found if each.name == "paceline_claims_failed_total" and each.labels == labels)


async def test_what_nobody_confirmed_is_counted_once(
    site: Site, token: str, runner: Client, register: Registered, queue: Queue
) -> None:
    other = await site.client(await site.start(), token)
    await queue.enqueue_many([NewJob(kind="mail")] * 2)
    me = await register()
    assert len((await runner.get("/runner/runs", params={"incarnation": me, "want": 2})).json()["runs"]) == 2
    await queue.database.value("UPDATE paceline.offer SET until = clock_timestamp()")

    async def counted() -> bool:
        return await failed("unconfirmed", runner, other) >= 2

    await until(counted)
    await until(lambda: queue.database.value("SELECT NOT EXISTS (SELECT FROM paceline.unconfirmed)"))
    assert await failed("unconfirmed", runner, other) == 2


@pytest.mark.usefixtures("unhurried")
async def test_what_did_not_reach_a_socket_is_counted_when_it_comes_back(
    site: Site, address: str, token: str, queue: Queue
) -> None:
    gateway = await site.client(address, token)
    await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        await socket.ask()
        socket.drop()
    async with dialled(address, token, **socket.resume()):
        assert await failed("undelivered", gateway) == 1


async def test_what_is_said_of_a_run_too_late_is_counted(runner: Client, register: Registered, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    me = await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    late = {"incarnation": me, "fence": run["fence"] - 1}
    assert (await runner.post(f"/runner/runs/{made.id}/complete", json=late)).status_code == 409
    await runner.post("/runner/heartbeat", json={"incarnation": me, "runs": [[made.id, run["fence"] - 1]]})
    assert await failed("refused", runner) == 2
