"""A queue of each test's own, and runners: the real command in a process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paceline.database import Database
from paceline.queue import Queue
from paceline.testing import PostgresServer
from runner.process import LONG, StartRunner, starting
from support.pg import migrated_template, one_server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here: tests/postgres proves the promises on each version."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with our schema."""
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
async def migrated(postgres: PostgresServer, template: str) -> AsyncIterator[str]:
    """The URL of a fresh database with our schema."""
    async with postgres.database(template) as url:
        yield url


@pytest.fixture
async def queue(migrated: str) -> AsyncIterator[Queue]:
    """The pool `builds` in it."""
    async with await Database.open(migrated) as database:
        yield Queue(database, "builds")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where handlers leave their marks."""
    return tmp_path


@pytest.fixture
async def start(migrated: str, scratch: Path) -> AsyncIterator[StartRunner]:
    """Start runners that keep their jobs, unless the test gives them a lease to lose; none outlives the test."""
    async with starting(migrated, scratch, **LONG) as make:
        yield make
