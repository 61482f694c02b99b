"""Calls through gateways whose database is behind PgBouncer in transaction mode, with a way past it and without."""

import pytest

from gateway.calls.conftest import Called, Serve
from gateway.conftest import Site
from runner.process import StartRunner
from support.bounced import postgres  # noqa: F401 -- it is for the fixtures
from support.bouncer import BouncedServer


@pytest.mark.parametrize("past", [True, False], ids=["a way past it", "none"])
async def test_calls_are_answered(
    serve: Serve, caller: Called, start: StartRunner, site: Site, bouncer: BouncedServer, past: bool
) -> None:
    await start("r1")
    client = await caller(await serve(**({"PACELINE_LISTEN_URL": bouncer.direct(site.url)} if past else {})))
    for _ in range(3):
        answer = await client.post("/v1/call", json={"kind": "mail", "payload": {"to": "ann"}})
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"]["to"] == "ann"
