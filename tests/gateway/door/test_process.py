"""`paceline gateway` from its start to its end, as a process."""

import asyncio
import signal
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.protocol import State
from websockets.uri import parse_uri

from gateway.conftest import until
from gateway.door.conftest import PATIENCE, Door, StartGateway
from paceline.database import Database
from paceline_dev.pki import Authority
from postgres.cli.process import run_cli
from support.pg import LoginUrl

NODES = "/cluster/nodes"


async def test_told_to_leave_it_turns_unready_serves_on_and_ends(site: Door, start: StartGateway) -> None:
    gateway, brief = await start("--leave", "3600"), await start("--leave", "1")
    client = await site.client(gateway.address, await site.tokens.create("ak"))
    assert (await client.get("/health/ready")).text == "ok\n"
    for each in (gateway, brief):
        each.process.send_signal(signal.SIGTERM)
    await gateway.said("leaving")
    answer = await client.get("/health/ready")
    assert (answer.status_code, answer.text) == (503, "draining\n")
    assert (await client.get("/health/live")).status_code == 200
    assert (await client.get(NODES)).status_code == 200
    assert await brief.ended() == 0


async def test_told_twice_it_does_not_wait(site: Door, start: StartGateway) -> None:
    gateway = await start("--leave", "3600")
    gateway.process.send_signal(signal.SIGTERM)
    await gateway.said("leaving")
    gateway.process.send_signal(signal.SIGTERM)
    assert await gateway.ended() == 0


async def test_while_it_cannot_use_its_database_it_is_unready_and_says_why(
    site: Door, start: StartGateway, login_url: LoginUrl, database: Database
) -> None:
    url = await login_url()
    gateway = await start(url=url)
    await gateway.said("waiting for the database: login")
    assert "--as gateway" in gateway.log
    client = await site.client(gateway.address, await site.tokens.create("ak"))
    assert (await client.get("/health/live")).status_code == 200
    assert (await client.get("/health/ready")).text == "starting\n"
    answer = await client.get(NODES)
    assert (answer.status_code, answer.json()["error"]) == (503, "starting")
    login = httpx.URL(url).username
    await database.value("SELECT paceline.grant_login($1, 'gateway', NULL)", login)

    async def is_ready() -> bool:
        return (await client.get("/health/ready")).status_code == 200

    await until(is_ready)
    assert (await client.get(NODES)).status_code == 200


async def test_one_that_waits_for_its_database_can_be_told_to_leave(site: Door, start: StartGateway) -> None:
    gateway = await start(url="postgresql://nobody@127.0.0.1:1/nothing")
    await gateway.said("waiting for the database: cannot reach")
    gateway.process.send_signal(signal.SIGTERM)
    assert await gateway.ended() == 0


async def test_no_token_is_in_the_log(site: Door, start: StartGateway) -> None:
    gateway = await start("--log-level", "debug", "--leave", "0")
    good, runner = await site.tokens.create("ak"), await site.tokens.create("rk", pool="builds", runner="laptop")
    guess = f"ak_{'0' * 12}_{'guessed' * 6}x"
    secrets = [token.split("_", 2)[2] for token in (good, runner, guess)]
    async with httpx.AsyncClient(base_url=gateway.address, timeout=PATIENCE) as client:
        for path, token in ((NODES, good), (f"{NODES}?token={good}", good), (f"/{good}", good), (NODES, guess)):
            await client.get(path, headers={"authorization": f"Bearer {token}"})
    sockets = gateway.address.replace("http", "ws") + "/runner/connect"
    with pytest.raises(InvalidStatus):
        await connect(f"{sockets}?token={runner}", open_timeout=PATIENCE)
    async with connect(sockets, additional_headers={"authorization": f"Bearer {runner}"}, open_timeout=PATIENCE):
        pass
    gateway.process.send_signal(signal.SIGTERM)
    assert await gateway.ended() == 0
    assert "leaving" in gateway.log
    assert [secret for secret in secrets if secret in gateway.log] == []


async def test_it_serves_https(site: Door, start: StartGateway, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ca")
    pair = authority.issue("gateway", addresses=["127.0.0.1"])
    gateway = await start("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))
    trust = ssl.create_default_context(cafile=authority.certificate)
    address = gateway.address.replace("http", "https")
    async with httpx.AsyncClient(base_url=address, verify=trust, timeout=PATIENCE) as client:
        answer = await client.get("/health/ready")
    assert answer.status_code == 200
    assert "max-age=" in answer.headers["strict-transport-security"]


async def test_it_leaves_in_order_beside_a_runner_that_is_half_gone(
    site: Door, start: StartGateway, tmp_path: Path
) -> None:
    """It has said that it closes, and hears no more: uvicorn would close it a second time, and fall over it."""
    authority = Authority(tmp_path, "ca")
    pair = authority.issue("gateway", addresses=["127.0.0.1"])
    gateway = await start("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key), "--leave", "0")
    trust = ssl.create_default_context(cafile=authority.certificate)
    token = await site.tokens.create("rk", pool="builds", runner="laptop")
    port = int(gateway.address.rpartition(":")[2])
    with await asyncio.to_thread(_half_gone, port, trust, token):
        gateway.process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
    assert "Traceback" not in gateway.log


def _half_gone(port: int, trust: ssl.SSLContext, token: str) -> ssl.SSLSocket:
    """A connection that was a runner's, after its close frame: it reads nothing, so TLS is not closed either."""
    client = ClientProtocol(parse_uri(f"wss://127.0.0.1:{port}/runner/connect"))
    request = client.connect()
    request.headers["Authorization"] = f"Bearer {token}"
    client.send_request(request)
    made = trust.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
    made.sendall(b"".join(client.data_to_send()))
    while client.state is State.CONNECTING:
        client.receive_data(made.recv(65536))
    assert client.handshake_exc is None
    client.send_close(1000)
    made.sendall(b"".join(client.data_to_send()))
    while not client.close_rcvd:
        client.receive_data(made.recv(65536))
    return made


async def test_without_auth_it_says_so_loudly(start: StartGateway) -> None:
    gateway = await start("--no-auth")
    await gateway.said("NO TOKEN IS ASKED FOR")
    async with httpx.AsyncClient(base_url=gateway.address, timeout=PATIENCE) as client:
        assert (await client.get(NODES)).status_code == 200


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--listen", "8000"], '--listen "8000" is not HOST:PORT'),
        (["--listen", "127.0.0.1:99999"], "port 99999 is out of range"),
        (["--listen", "0.0.0.0:0", "--no-auth"], "listen on 127.0.0.1 or ::1"),
        (["--tls-cert", "x.pem"], "TLS needs both"),
        (["--tls-cert", "missing.pem", "--tls-key", "missing.key"], "missing.pem"),
        (["--origin", "pages"], 'origin "pages" is none'),
        (["--origin", "*"], 'origin "*" is none'),
        (["--trust-proxy", "10.0.0.0/99"], 'proxy "10.0.0.0/99" is none'),
        (["--max-body", "1"], "max body 1 is too small"),
        (["--listen-url", "mysql://x"], "does not begin with postgresql://"),
        (["--database-secret", "nowhere"], "the database is named twice"),
    ],
)
async def test_what_it_cannot_use_is_said_in_one_line(migrated: str, words: list[str], complaint: str) -> None:
    ran = await run_cli(migrated, "gateway", *words)
    assert (ran.code, ran.out) == (1, "")
    (line,) = ran.err.strip().split("\n")
    assert line.startswith("error: ")
    assert complaint in line


async def test_a_port_that_is_taken_is_said_in_one_line(migrated: str) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ran = await run_cli(migrated, "gateway", "--listen", f"127.0.0.1:{port}")
    server.close()
    assert ran.code == 1
    assert f"error: cannot listen on 127.0.0.1:{port}: " in ran.err
