"""The command as a user runs it: a process of its own, with nothing in its environment but what the test gives."""

import pytest

from paceline.claims import Failed, Incarnation, Registration
from paceline.job import JobId, NewJob
from paceline.queue import Queue
from paceline.testing import PostgresServer
from postgres.cli.process import Cli, Letters, Ran, run_cli
from support.pg import migrated_template, one_server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here: each command is a process, and what it asks for is proved on each version."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="session")
def template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with our schema."""
    return migrated_template(tmp_path_factory, postgres)


@pytest.fixture
def cli(migrated: str) -> Cli:
    """`paceline` on a database with our schema."""

    async def run(*words: object, stdin: str = "", url: str | None = None, **variables: str) -> Ran:
        return await run_cli(migrated if url is None else url, *words, stdin=stdin, **variables)

    return run


@pytest.fixture
def letters(queue: Queue) -> Letters:
    """Jobs that a runner fails for good."""

    async def make(count: int = 1, kind: str = "mail", cause: str = "Failed") -> list[JobId]:
        await queue.enqueue_many([NewJob(kind=kind, payload={"n": n}) for n in range(count)])
        runner = await Incarnation.register(queue.database, Registration(name="r", pool="builds", kinds=(kind,)))
        jobs = (await runner.step(count)).jobs
        assert not await runner.fail([Failed(job, "it broke") for job in jobs], cause)
        await runner.deregister()
        return [job.id for job in jobs]

    return make
