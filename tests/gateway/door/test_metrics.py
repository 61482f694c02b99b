"""What a gateway counts, and that it counts it by routes and not by whatever callers write."""

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from gateway.conftest import Client, Site, until
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


async def test_a_caller_that_hangs_up_is_counted_as_such(nobody: Client, producer: Client, queue: Queue) -> None:
    call = asyncio.create_task(producer.post("/v1/call", json={"kind": "mail"}))
    await until(lambda: queue.database.value("SELECT count(*) FROM paceline.job"))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)

    async def is_counted() -> bool:
        return (await samples(nobody)).get(requests("/v1/call", "POST", 499)) == 1

    await until(is_counted)
