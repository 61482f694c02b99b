"""The queue as commands see it: by the database, and by a gateway. What holds for one holds for the other."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from gateway.conftest import Site
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline_cli.source.dialled import Dialled
from paceline_cli.source.direct import Direct
from paceline_cli.source.port import Source
from postgres.cli.process import Ran, run_cli

Crew: TypeAlias = tuple[Incarnation, Incarnation]
Ask: TypeAlias = Callable[..., Awaitable[Ran]]


@pytest.fixture(params=["the database", "a gateway"])
async def source(request: pytest.FixtureRequest, database: Database, site: Site) -> AsyncIterator[Source]:
    if request.param == "the database":
        yield Direct(database)
        return
    address = await site.start()
    async with Dialled(address, await site.tokens.create("ak")) as dialled:
        yield dialled


@pytest.fixture(params=["the database", "a gateway"])
async def ask(request: pytest.FixtureRequest, site: Site, migrated: str, tmp_path: Path) -> Ask:
    """The command line with one way to the queue, and no cluster."""
    nowhere = str(tmp_path / "no-kubeconfig")
    if request.param == "the database":

        async def direct(*words: object) -> Ran:
            return await run_cli(migrated, *words, KUBECONFIG=nowhere)

        return direct
    address, token = await site.start(), await site.tokens.create("ak")

    async def dialled(*words: object) -> Ran:
        return await run_cli("", *words, "--gateway", address, PACELINE_TOKEN=token, KUBECONFIG=nowhere)

    return dialled


@pytest.fixture
async def crew(database: Database) -> Crew:
    """Two runners of ci/builds, which has a leader: the first."""
    await database.value("SELECT paceline.put_group('main', 'ci', 'builds', 'builds', p_leader => true)")
    first, second = [
        await Incarnation.register(
            database,
            Registration(
                name=name, pool="", kinds=("mail",), install="main", namespace="ci", group="builds", slots=2,
                tags=("linux",), lease=timedelta(hours=1),
            ),
        )
        for name in ("r1", "r2")
    ]  # fmt: skip
    return first, second
