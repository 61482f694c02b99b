"""What one request may take: too much of anything is refused in words, before it costs."""

import asyncio
import contextlib
import logging
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from gateway.conftest import Client, until
from gateway.door.conftest import PATIENCE, Door, Raw
from paceline.database import Database
from paceline.queue import Queue
from paceline_gateway.limits import MOST_HEAD

NODES = "/cluster/nodes"


@pytest.fixture
async def token(site: Door) -> str:
    return await site.tokens.create("ak")


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_comes(site: Door, token: str) -> None:
    async with Raw.open(await site.start(max_body=1024)) as raw:
        await raw.head("POST /v1/jobs", token, content_length=1025)
        answer = await raw.answer()
        assert (answer.status, answer.error) == (413, "too_large")
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_body_that_grows_too_large_is_refused_before_its_end(site: Door, token: str) -> None:
    async with Raw.open(await site.start(max_body=1024)) as raw:
        await raw.head("POST /v1/jobs", token, transfer_encoding="chunked")
        await raw.send("400\r\n", "x" * 1024, "\r\n", "1\r\n", "x", "\r\n")
        assert (await raw.answer()).status == 413


async def test_a_body_of_just_the_size_is_read(site: Door, token: str) -> None:
    body = '{"kind": "mail"}'.ljust(1024)
    async with Raw.open(await site.start(max_body=1024)) as raw:
        await raw.head("POST /v1/jobs", token, content_length=1024, content_type="application/json")
        await raw.send(body)
        assert (await raw.answer()).status == 201


async def test_a_body_that_does_not_come_is_given_up(site: Door, token: str) -> None:
    async with Raw.open(await site.start(body_seconds=0.2)) as raw:
        await raw.head("POST /v1/jobs", token, content_length=100)
        await raw.send("{")
        answer = await raw.answer()
        assert (answer.status, answer.error) == (408, "too_slow")


async def test_nothing_of_a_strangers_body_is_awaited(address: str) -> None:
    async with Raw.open(address) as raw:
        await raw.head("POST /v1/jobs", "nonsense", content_length=100)
        assert (await raw.answer()).status == 401


@pytest.mark.parametrize("announced", [{"content_length": 100}, {"transfer_encoding": "chunked"}])
@pytest.mark.parametrize("path", ["/health/live", "/", "/docs/swagger-ui.css"])
async def test_where_no_token_is_needed_no_body_is_read(address: str, path: str, announced: dict[str, Any]) -> None:
    async with Raw.open(address) as raw:
        await raw.head(f"GET {path}", **announced)
        answer = await raw.answer()
        assert (answer.status, answer.error, answer.headers["connection"]) == (413, "too_large", "close")
        assert await raw.closed() == b""


async def test_a_body_of_nothing_is_none(address: str) -> None:
    async with Raw.open(address) as raw:
        for _ in range(2):
            await raw.head("GET /health/live", content_length=0)
            assert (await raw.answer()).status == 200


async def test_a_head_that_is_too_large_is_refused(site: Door, address: str, token: str) -> None:
    async with Raw.open(address) as raw:
        await raw.head(f"GET {NODES}", token, x=MOST_HEAD * "y")
        answer = await raw.answer()
        assert (answer.status, answer.error) == (431, "head_too_large")


async def test_a_request_that_takes_too_long_is_given_up(site: Door, token: str, database: Database) -> None:
    admin = await site.client(await site.start(request_seconds=0.3), token)
    async with database.connection() as connection, connection.transaction():
        await connection.execute("LOCK TABLE paceline.runner_group")
        answer = await admin.get(NODES)
    assert (answer.status_code, answer.json()["error"]) == (503, "timeout")


async def test_one_that_waits_is_not(site: Door, token: str, queue: Queue) -> None:
    address, patient = await site.start(request_seconds=0.3), await site.start()
    admin = await site.client(address, token)
    mine = await site.tokens.create("rk", pool="builds", runner="laptop")
    hello = await (await site.client(patient, mine)).post("/runner/register", json={"kinds": ["none"]})
    runner, me = await site.client(address, mine), hello.json()["incarnation"]
    made = await queue.enqueue("mail")
    call = asyncio.create_task(admin.post("/v1/call", json={"kind": "mail", "pool": "builds"}))
    poll = await runner.get("/runner/runs", params={"incarnation": me, "wait": 1})
    show = await admin.get(f"/v1/jobs/{made.id}", params={"wait": 1})
    assert (poll.status_code, show.status_code, show.json()["state"]) == (200, 200, "ready")
    await until(lambda: queue.database.value("SELECT count(*) = 2 FROM paceline.job"))
    called = await queue.database.value("SELECT max(id) FROM paceline.job")
    await queue.cancel(called)
    assert (await call).json()["error"] == "cancelled"


async def test_no_more_requests_are_under_way_than_are_allowed_and_probes_are_no_requests(
    site: Door, token: str, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    admin = await site.client(await site.start(max_requests=1), token)
    waiting = asyncio.create_task(admin.get(f"/v1/jobs/{made.id}", params={"wait": 30}))
    await until(lambda: queue.database.value("SELECT awaited FROM paceline.job"))
    answer = await admin.get(NODES)
    assert (answer.status_code, answer.json()["error"], answer.headers["retry-after"]) == (503, "busy", "1")
    assert (await admin.get("/health/ready")).status_code == 200
    await queue.cancel(made.id)
    assert (await waiting).status_code == 200
    assert (await admin.get(NODES)).status_code == 200


async def test_no_more_sockets_are_open_than_are_allowed_and_they_are_no_requests(site: Door, token: str) -> None:
    address = await site.start(max_requests=1)
    url, admin = address.replace("http", "ws") + "/runner/connect", await site.client(address, token)
    mine = {"authorization": f"Bearer {await site.tokens.create('rk', pool='builds', runner='laptop')}"}

    async def code(**options: Any) -> int | None:
        async with connect(url, additional_headers=mine, open_timeout=PATIENCE, **options) as socket:
            await socket.wait_closed()
        return socket.close_code

    async with connect(url, additional_headers=mine, open_timeout=PATIENCE):
        assert await code() == 1013
        assert await code(subprotocols=["paceline.v1"]) == 1013
        assert (await admin.get(NODES)).status_code == 200

    async def has_room() -> bool:
        with contextlib.suppress(ConnectionClosed):
            async with connect(url, additional_headers=mine, open_timeout=PATIENCE) as socket:
                await socket.send("{")
                return "problem" in str(await socket.recv())
        return False

    await until(has_room)


@pytest.mark.parametrize("fault", [ZeroDivisionError("by 0"), TimeoutError("by 0")])
async def test_what_should_not_happen_is_told_in_the_same_form(
    site: Door, address: str, token: str, caplog: pytest.LogCaptureFixture, fault: Exception
) -> None:
    async def broken() -> None:
        raise fault

    site.apps[0].add_api_route("/broken", broken)
    with caplog.at_level(logging.ERROR):
        answer = await (await site.client(address, token)).get("/broken")
    assert (answer.status_code, answer.json()["error"]) == (500, "internal")
    assert "by 0" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "by 0" in caplog.text


async def test_the_database_is_not_quoted(site: Door, address: str, token: str, database: Database) -> None:
    admin = await site.client(address, token)
    assert (await admin.get(NODES)).status_code == 200
    await database.value("ALTER FUNCTION paceline.list_runners RENAME TO lost")
    answer = await admin.get(NODES)
    assert (answer.status_code, answer.json()["error"]) == (503, "schema")
    assert "127.0.0.1" not in answer.text
    assert "paceline migrate" not in answer.text, "that is for the gateway's log"


# what browsers are told


async def test_every_answer_is_safe_in_a_browser(site: Door, nobody: Client, token: str) -> None:
    admin = {"authorization": f"Bearer {token}"}
    for path, headers, status in ((NODES, admin, 200), (NODES, {}, 401), ("/nothing", admin, 404), ("/docs", {}, 200)):
        answer = await nobody.get(path, headers=headers)
        assert answer.status_code == status
        told = answer.headers
        assert (told["x-content-type-options"], told["x-frame-options"]) == ("nosniff", "DENY")
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert "default-src 'none'" in told["content-security-policy"]
        assert told["referrer-policy"] == "no-referrer"
        assert "server" not in told
        assert "strict-transport-security" not in told
    assert (await nobody.get(NODES, headers=admin)).headers["cache-control"] == "no-store"


async def test_pages_from_elsewhere_may_call_only_if_they_are_named(site: Door, token: str) -> None:
    page = {"origin": "https://pages.example.com"}
    ask = {**page, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    closed = await site.nobody(await site.start())
    assert "access-control-allow-origin" not in (await closed.get("/health/live", headers=page)).headers
    assert (await closed.options("/v1/jobs", headers=ask)).status_code == 401
    named = await site.nobody(await site.start(origins=("https://pages.example.com",)))
    allowed = await named.options("/v1/jobs", headers=ask)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, page["origin"])
    assert "access-control-allow-credentials" not in allowed.headers
    other = await named.options("/v1/jobs", headers={**ask, "origin": "https://evil.example.com"})
    assert other.status_code == 400
    answer = await named.get(NODES, headers={**page, "authorization": f"Bearer {token}"})
    assert answer.headers["access-control-allow-origin"] == page["origin"]
