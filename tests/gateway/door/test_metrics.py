"""What a gateway counts, and that it counts it by routes and not by whatever callers write."""

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client.parser import text_string_to_metric_families

from gateway.conftest import Client, Registered, Site, until
from gateway.runners.client import dialled
from paceline.queue import Queue


async def samples(client: Client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = (await client.get("/metrics")).text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def requests(route: str, method: str, code: int) -> tuple[str, tuple[tuple[str, str], ...]]:
    return "paceline_http_requests_total", (("code", str(code)), ("method", method), ("route", route))


async def test_requests_are_counted_by_route_method_and_code(nobody: Client, producer: Client) -> None:
    job = (await producer.post("/v1/jobs", json={"kind": "mail"})).json()["id"]
    for _ in range(2):
        await producer.get(f"/v1/jobs/{job}")
    await producer.get("/v1/jobs/999")
    await nobody.get("/v1/whatever")
    found = await samples(nobody)
    assert found[requests("/v1/jobs", "POST", 201)] == 1
    assert found[requests("/v1/jobs/{job}", "GET", 200)] == 2
    assert found[requests("/v1/jobs/{job}", "GET", 404)] == 1
    assert found[requests("-", "GET", 401)] == 1
    routes = {value for _, labels in found for name, value in labels if name == "route"}
    assert routes == {"/v1/jobs", "/v1/jobs/{job}", "-"}
    times = "paceline_http_request_seconds_count", (("method", "GET"), ("route", "/v1/jobs/{job}"))
    assert found[times] == 3


async def test_the_process_is_counted(nobody: Client) -> None:
    found = await samples(nobody)
    assert found["process_cpu_seconds_total", ()] > 0
    assert found["process_resident_memory_bytes", ()] > 0


async def test_two_gateways_of_one_process_count_for_themselves(site: Site, nobody: Client) -> None:
    other = await site.client(await site.start(), "nonsense")
    await other.get("/cluster/nodes")
    assert requests("-", "GET", 401) in await samples(other)
    assert requests("-", "GET", 401) not in await samples(nobody)


def stands_at(client: Client, name: str, value: float) -> Callable[[], Awaitable[bool]]:
    """Whether a metric without labels has that value."""

    async def stands() -> bool:
        return (await samples(client))[name, ()] == value

    return stands


async def test_those_who_wait_are_counted_for_as_long_as_they_do(
    nobody: Client, producer: Client, runner: Client, register: Registered
) -> None:
    me = await register()
    poll = asyncio.create_task(runner.get("/runner/runs", params={"incarnation": me}))
    await until(stands_at(nobody, "paceline_waiting_polls", 1))
    calls = [asyncio.create_task(producer.post("/v1/call", json={"kind": "mail"})) for _ in range(2)]
    (run,) = (await poll).json()["runs"]
    await until(stands_at(nobody, "paceline_waiting_calls", 2))
    assert (await samples(nobody))["paceline_waiting_polls", ()] == 0
    about = {"incarnation": me, "fence": run["fence"]}
    await runner.post(f"/runner/runs/{run['id']}/complete", json=about)
    await until(stands_at(nobody, "paceline_waiting_calls", 1))
    (other,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    await runner.post(f"/runner/runs/{other['id']}/complete", json={**about, "fence": other["fence"]})
    await asyncio.gather(*calls)
    await until(stands_at(nobody, "paceline_waiting_calls", 0))


async def test_sockets_are_counted_for_as_long_as_they_are_open(site: Site, address: str, nobody: Client) -> None:
    first, second = [await site.tokens.create("rk", pool="builds", runner=name) for name in ("first", "second")]
    async with dialled(address, first):
        async with dialled(address, second):
            assert (await samples(nobody))["paceline_sockets", ()] == 2
        await until(stands_at(nobody, "paceline_sockets", 1))
    await until(stands_at(nobody, "paceline_sockets", 0))


async def test_how_long_a_job_was_ready_before_it_was_handed_out_is_measured(
    nobody: Client, runner: Client, register: Registered, queue: Queue
) -> None:
    await queue.enqueue("mail")
    await queue.database.value("UPDATE paceline.job SET ready_at = clock_timestamp() - interval '3 s'")
    me = await register()
    assert len((await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]) == 1
    found = await samples(nobody)
    assert found["paceline_claim_latency_seconds_count", ()] == 1
    assert found["paceline_claim_latency_seconds_sum", ()] > 3
    assert found["paceline_claim_latency_seconds_bucket", (("le", "2.5"),)] == 0


async def test_a_caller_that_hangs_up_is_counted_as_such(nobody: Client, producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json={"kind": "mail"}))
    await until(lambda: queue.database.value("SELECT count(*) FROM paceline.job"))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)

    async def is_counted() -> bool:
        return (await samples(nobody)).get(requests("/v1/call", "POST", 499)) == 1

    await until(is_counted)
