"""Calls through gateways whose database is behind PgBouncer in transaction mode, with a way past it and without."""

import pytest

from gateway.calls.conftest import Called, Serve
from gateway.conftest import Site
from paceline.testing import PostgresServer
from runner.process import StartRunner
from support.bouncer import BouncedServer, bounced
from support.pg import one_server


@pytest.fixture(scope="session")
def bouncer(tmp_path_factory: pytest.TempPathFactory) -> BouncedServer:
    return bounced(tmp_path_factory, one_server(tmp_path_factory))


@pytest.fixture(scope="session")
def postgres(bouncer: BouncedServer) -> PostgresServer:
    return bouncer


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
