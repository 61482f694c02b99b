"""The queue as commands see it: by the database, and by a gateway. What holds for one holds for the other."""

from collections.abc import AsyncIterator

import pytest

from gateway.conftest import Site
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline_cli.source.dialled import Dialled
from paceline_cli.source.direct import Direct
from paceline_cli.source.port import Source


@pytest.fixture(params=["the database", "a gateway"])
async def source(request: pytest.FixtureRequest, database: Database, site: Site) -> AsyncIterator[Source]:
    if request.param == "the database":
        yield Direct(database)
        return
    address = await site.start()
    async with Dialled(address, await site.tokens.create("ak")) as dialled:
        yield dialled


@pytest.fixture
async def crew(database: Database) -> tuple[Incarnation, Incarnation]:
    """Two runners of ci/builds, which has a leader: the first."""
    await database.value("SELECT paceline.put_group('main', 'ci', 'builds', 'builds', p_leader => true)")
    first, second = [
        await Incarnation.register(
            database,
            Registration(
                name=name, pool="", kinds=("mail",), install="main", namespace="ci", group="builds", slots=2,
                tags=("linux",),
            ),
        )
        for name in ("r1", "r2")
    ]  # fmt: skip
    return first, second
