"""How many connections each part holds at most: the figures of docs/how-to/operate.md."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from cluster.operator.gateways import OneGateway
from paceline import NewJob
from paceline.database import Database
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from paceline_dev import REPOSITORY
from paceline_operator.adapters.queue import CONNECTIONS
from runner.process import starting
from support.pg import logins, migrated_template, one_server

PAGE = (REPOSITORY / "docs" / "how-to" / "operate.md").read_text()
HELD = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1"
DISPATCHERS, POOL, JOBS = 2, 4, 60


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[PostgresServer, str]:
    server = one_server(tmp_path_factory)
    return server, migrated_template(tmp_path_factory, server)


@pytest.fixture
async def migrated(template: tuple[PostgresServer, str]) -> AsyncIterator[str]:
    server, name = template
    async with server.database(name) as url:
        yield url


def more(part: str) -> int:
    """What the page says that a part holds beyond what it is told."""
    (found,) = re.findall(rf"^\| {part} \|.*?\+ (\d+) \|", PAGE, re.MULTILINE)
    return int(found)


@contextlib.asynccontextmanager
async def counted(database: Database, login: str) -> AsyncIterator[list[int]]:
    """How many the login has had, as often as one can look."""
    seen: list[int] = []

    async def look() -> None:
        while True:
            seen.append(await database.value(HELD, login))
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def done(database: Database) -> None:
    while await database.value("SELECT EXISTS (SELECT FROM paceline.job)"):  # noqa: ASYNC110 -- it does not say when
        await asyncio.sleep(0.05)


async def test_a_runner_and_a_gateway_hold_no_more_than_the_page_says(migrated: str, tmp_path: Path) -> None:
    async with await Database.open(migrated) as database, logins(database, migrated) as login_url:
        runner, gateway = await login_url("runner", "builds"), await login_url("gateway")
        names = [url.split("//")[1].partition(":")[0] for url in (runner, gateway)]
        async with counted(database, names[0]) as by_runner, counted(database, names[1]) as by_gateway:
            served = OneGateway(gateway, free_ports(1)[0], tmp_path, PACELINE_GATEWAY_CONNECTIONS=str(POOL))
            await served.ready()
            headers = {"authorization": f"Bearer {await Tokens(database).create('pk', pool='builds')}"}
            async with (
                starting(runner, tmp_path) as start,
                httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60) as client,
            ):
                await start("r1", "--dispatchers", str(DISPATCHERS))
                await Queue(database, "builds").enqueue_many([NewJob(kind="count")] * JOBS)
                answers = await asyncio.gather(*(client.post("/v1/jobs", json={"kind": "count"}) for _ in range(JOBS)))
                assert {answer.status_code for answer in answers} <= {200, 201, 202}
                await done(database)
            await served.stop()
    assert DISPATCHERS < max(by_runner) <= DISPATCHERS + more("runner")
    assert more("gateway") < max(by_gateway) <= POOL + more("gateway")


def test_the_operators_are_what_its_code_says() -> None:
    assert f"| operator | {CONNECTIONS} + {more('operator')} |" in PAGE
