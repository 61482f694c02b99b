"""The route for jobs goes past FastAPI; tests/unit/gateway/test_straight.py holds its answers against FastAPI's own."""

from gateway.conftest import Client, Site
from paceline.queue import Queue


async def test_a_method_that_there_is_not_is_told_which_there_are(producer: Client) -> None:
    answer = await producer.put("/v1/jobs", json={"kind": "mail"})
    assert (answer.status_code, answer.headers["content-type"]) == (405, "application/problem+json")
    assert "POST" in answer.headers["allow"]


async def test_a_runners_token_enqueues_nothing(site: Site, address: str, queue: Queue) -> None:
    runner = await site.client(address, await site.tokens.create("rk", pool="builds", runner="r1"))
    answer = await runner.post("/v1/jobs", json={"kind": "mail"})
    assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
    assert await queue.database.value("SELECT count(*) FROM paceline.job") == 0
