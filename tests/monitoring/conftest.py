"""promtool and Prometheus, our rules as they read them, and a queue."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from paceline.database import Database
from paceline.queue import Queue
from paceline.testing import PostgresServer
from support.pg import migrated_template, one_server
from support.watching import fetched, rule_groups


@pytest.fixture(scope="session")
def prometheus() -> Path:
    """The folder with the real programs."""
    return fetched()


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules, in a folder of their own."""
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": rule_groups()}))
    return path


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here: tests/postgres proves the promises on each version."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
async def migrated(postgres: PostgresServer, template: str) -> AsyncIterator[str]:
    async with postgres.database(template) as url:
        yield url


@pytest.fixture
async def queue(migrated: str) -> AsyncIterator[Queue]:
    """The pool `builds`."""
    async with await Database.open(migrated) as database:
        yield Queue(database, "builds")
