"""Logins of their own: real roles with a password, bound to pools, gone after the test."""

import secrets
from collections.abc import AsyncIterator
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import pytest

from paceline.database import Database
from paceline.reading import Reader


class Login(Protocol):
    """Makes a login that has a role on a pool; None means every pool, and no role at all is possible."""

    async def __call__(self, role: str | None, pool: str | None = None) -> Database:
        """Connect as it."""


@pytest.fixture
def reader(database: Database) -> Reader:
    """The owner's view."""
    return Reader(database)


@pytest.fixture
async def login(database: Database, migrated: str) -> AsyncIterator[Login]:
    """Roles are shared by all databases of a server: their names are unique, and they are dropped."""
    made: list[tuple[str, Database]] = []

    async def make(role: str | None, pool: str | None = None) -> Database:
        name, password = f"l_{secrets.token_hex(6)}", secrets.token_hex(8)
        await database.value(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        if role is not None:
            await database.value("SELECT paceline.grant_login($1, $2, $3)", name, role, pool)
        parts = urlsplit(migrated)
        place = parts._replace(netloc=f"{name}:{password}@{parts.hostname}:{parts.port}")
        made.append((name, await Database.open(urlunsplit(place), size=2)))
        return made[-1][1]

    yield make
    for name, opened in made:
        await opened.close()
        await database.value(f"DROP ROLE {name}")
