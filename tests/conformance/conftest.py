"""One fixture, three queues: the double in memory, the real one in a transaction, and the real one."""

from collections.abc import AsyncIterator

import pytest

from paceline.queue import Queue
from paceline.testing import PostgresServer, transactional_queue
from support.backends import Backend, MemoryBackend, SqlBackend
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
async def migrated(postgres: PostgresServer, template: str, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The URL of a fresh database with our schema. A test that gets it by name is counted as one on the real thing."""
    request.node.user_properties.append(("real", "postgres"))
    async with postgres.database(template) as url:
        yield url


@pytest.fixture
def memory_backend() -> Backend:
    """The double."""
    return MemoryBackend()


@pytest.fixture
async def transactional_backend(migrated: str) -> AsyncIterator[Backend]:
    """The real SQL, never committed."""
    async with transactional_queue(migrated, "builds") as queue:
        yield SqlBackend(queue)


@pytest.fixture
async def postgres_backend(migrated: str) -> AsyncIterator[Backend]:
    """The real thing."""
    queue = await Queue.connect(migrated, "builds")
    yield SqlBackend(queue)
    await queue.close()


@pytest.fixture(params=["memory", "transactional", "postgres"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each of the three in turn."""
    chosen: Backend = request.getfixturevalue(f"{request.param}_backend")
    return chosen
