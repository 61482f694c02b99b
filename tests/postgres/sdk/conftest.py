"""Logins that are not the owner: each test may make its own, bound to a pool and a role."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

import pytest

from paceline.database import Database


@pytest.fixture
async def login(database: Database, migrated: str) -> AsyncIterator[Callable[..., Awaitable[Database]]]:
    """Connections of a new login: `await login("runner", "builds")`; no pool means every pool, no role none at all."""
    made: list[tuple[str, Database]] = []

    async def make(role: str | None = None, pool: str | None = None) -> Database:
        name, password = f"t_{secrets.token_hex(6)}", secrets.token_hex(8)
        await database.value(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        if role:
            await database.value("SELECT paceline.grant_login($1, $2, $3)", name, role, pool)
        parts = urlsplit(migrated)
        place = parts.netloc.rpartition("@")[2]
        opened = await Database.open(urlunsplit(parts._replace(netloc=f"{name}:{password}@{place}")), size=2)
        made.append((name, opened))
        return opened

    yield make
    for name, opened in made:
        await opened.close()
        await database.value(f"DROP ROLE {name}")
