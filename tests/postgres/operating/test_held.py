"""The operator learns who keeps vacuum from a database, with the rights that it has anyway."""

import time

import pytest

from paceline.operating import Office
from paceline.queue import Queue as Jobs
from paceline_operator.adapters import queue as adapter
from paceline_operator.adapters.bell import Bell
from paceline_operator.adapters.queue import Queue
from support.pg import Connect, LoginUrl, logins


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked with every look, and told of whoever has only just begun."""
    monkeypatch.setattr(adapter, "HEALTH_SECONDS", 0.0)
    monkeypatch.setattr(adapter, "HELD_FROM", 0.0)
    monkeypatch.setattr(adapter, "LOOK_SECONDS", 3600.0)


@pytest.mark.usefixtures("quick")
async def test_a_forgotten_transaction_is_noticed_and_its_end_too(queue: Jobs, migrated: str, connect: Connect) -> None:
    await queue.enqueue("mail")
    async with logins(queue.database, migrated) as login_url:
        seen = Queue(await _operators(login_url), Bell(migrated), Office("here", "me"), lambda _: None)
        try:
            operating = await seen.ready()
            session = await connect()
            async with session.transaction(isolation="repeatable_read"):
                await session.execute("SELECT count(*) FROM paceline.job")
                began = time.monotonic()
                await seen._look(operating)
                held = seen.held.seconds(time.monotonic())
                assert held > 0
                assert seen.held.seconds(began + 900) > 800
            pid = str(session.get_server_pid())
            assert ("session", pid) in seen.held._since
            await seen._look(operating)
            assert ("session", pid) not in seen.held._since, "others of the server may hold it now"
        finally:
            await seen.close()


@pytest.mark.usefixtures("quick")
async def test_it_is_asked_once_a_minute(queue: Jobs, migrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "HEALTH_SECONDS", 60.0)
    await queue.enqueue("mail")
    async with logins(queue.database, migrated) as login_url:
        seen = Queue(await _operators(login_url), Bell(migrated), Office("here", "me"), lambda _: None)
        try:
            operating = await seen.ready()
            first = seen._health_at
            await seen._look(operating)
            assert seen._health_at == first
            seen._health_at -= 60.0
            await seen._look(operating)
            assert seen._health_at >= first
        finally:
            await seen.close()


async def _operators(login_url: LoginUrl) -> str:
    return await login_url("operator", "builds")
