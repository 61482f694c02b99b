"""Credentials that change under load, as docs/how-to/operate.md says: nobody is refused, sent away or served twice."""

import asyncio
from pathlib import Path

import httpx
import pytest

from gateway.conftest import Client
from gateway.door.conftest import Door
from gateway.door.load import Load, under_load, until
from paceline.database import Database
from paceline_gateway.way import LISTEN_URL, URL, Way
from support.pg import LoginUrl

pytestmark = pytest.mark.timeout(240)
HELD = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1"
UNUSABLE, USED = "that cannot be used", "it is used from now on"


@pytest.fixture
def secret(site: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the login of a gateway is mounted; it looks there all the time."""
    monkeypatch.setattr("paceline_gateway.way.LOOK_SECONDS", 0.05)
    mount(tmp_path, site.url)
    return tmp_path


def mount(folder: Path, url: str) -> None:
    """In one step, as a kubelet does it."""
    (folder / "new").write_text(f"{url}\n")
    (folder / "new").rename(folder / URL)


def login(url: str) -> str:
    return httpx.URL(url).username


async def laptop(site: Door, address: str) -> Client:
    return await site.client(address, await site.tokens.create("rk", pool="builds", runner="laptop"))


async def said(caplog: pytest.LogCaptureFixture, text: str, times: int = 1) -> None:
    async def is_said() -> bool:
        return sum(text in line for line in caplog.messages) >= times

    await until(is_said, f"it says {times} times: {text}")


async def test_a_gateways_login_is_changed_while_a_caller_waits_and_a_runner_polls(
    site: Door, secret: Path, login_url: LoginUrl, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "paceline.gateway")
    stranger, other = await login_url(), await login_url("gateway")
    address = await site.start(database_secret=secret, connections=5)
    caller = await site.client(address, await site.tokens.create("pk", pool="builds"))

    async def all_are_new() -> bool:
        return not await database.value(HELD, login(site.url)) and await database.value(HELD, login(other)) > 3

    async with under_load(await laptop(site, address), caller, caller) as load:
        await load.goes_on()
        mount(secret, stranger)
        await said(caplog, UNUSABLE)
        await load.goes_on()
        assert await database.value(HELD, login(site.url)) > 3, "a login without its grant changes nothing"

        mount(secret, other)
        await said(caplog, USED)
        await until(all_are_new, "nobody is connected with the old login")
        await load.goes_on()
        await database.value("SELECT paceline.revoke_login($1, 'gateway', NULL)", login(site.url))
        await load.goes_on()

        await another_password(secret, other, load, database, caplog)


async def another_password(
    secret: Path, url: str, load: Load, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the same login: the Secret has it first."""
    mount(secret, url.replace(f"{login(url)}:", f"{login(url)}:another"))
    await said(caplog, UNUSABLE, 2)
    await load.goes_on()
    await database.value(f"ALTER ROLE {login(url)} PASSWORD 'another{httpx.URL(url).password}'")
    await said(caplog, USED, 2)
    await load.goes_on()


async def test_a_producers_token_is_changed_under_load(site: Door, address: str) -> None:
    old = await site.tokens.create("pk", pool="builds")
    before = await site.client(address, old)
    after = await site.client(address, await site.tokens.create("pk", pool="builds"))
    async with under_load(await laptop(site, address), before, after) as load, asyncio.TaskGroup() as group:
        over = asyncio.Event()
        with_the_old = group.create_task(load.produce(before, over))
        await load.goes_on()
        over.set()
        await with_the_old
        assert await site.tokens.revoke(old.split("_")[1])

        async def is_refused() -> bool:
            return (await before.get("/v1/jobs")).status_code == 401

        await until(is_refused, "the gateway has heard of the end of the token")
        assert (await before.post("/v1/jobs", json={"kind": "count"})).status_code == 401
        await load.goes_on()


def test_a_secret_without_a_url_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"its file url cannot be read: No such file .*mount a Secret with a key url"):
        Way.read(tmp_path)


def test_the_second_way_is_the_first_where_none_is_named(tmp_path: Path) -> None:
    first, second = "postgresql://ann@db:5432/app?pgbouncer=1", "postgresql://ann@db:5433/app"
    mount(tmp_path, first)
    assert Way.read(tmp_path) == Way(first, first)
    (tmp_path / LISTEN_URL).write_text(second)
    assert Way.read(tmp_path) == Way(first, second)
