"""The servers that tests run on: PostgreSQL 18, 15 where it is installed, and 18 behind PgBouncer."""

import os

import pytest

from paceline.testing import PostgresServer, Programs, bundled, installed
from support.bounced import BOUNCED
from support.bouncer import bounced
from support.shared import shared


def versions() -> dict[str, Programs | None]:
    """The PostgreSQL versions at hand, by the name that a test's id shows."""
    if "PACELINE_TEST_DATABASE_URL" in os.environ:
        return {"url": None}
    found: dict[str, Programs | None] = {"pg18": bundled()}
    if programs := installed(15):
        found["pg15"] = programs
    return found


def server(factory: pytest.TempPathFactory, name: str) -> PostgresServer:
    """One of them, the same for the whole run."""
    if name == BOUNCED:
        return bounced(factory, server(factory, next(iter(versions()))))
    if name == "url":
        return PostgresServer(os.environ["PACELINE_TEST_DATABASE_URL"])

    def start(owner: int) -> tuple[object, dict[str, str]]:
        started = PostgresServer.start(versions()[name], owner=owner)
        return started, {"url": started.url}

    return PostgresServer(shared(factory, name, start)["url"])
