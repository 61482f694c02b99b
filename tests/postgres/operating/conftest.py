"""An operator with one group."""

from datetime import timedelta

import pytest

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.operating import Operating
from postgres.operating.crew import INSTALL, Join


@pytest.fixture
def operating(database: Database) -> Operating:
    """The owner's, who may do what an operator may."""
    return Operating(database)


@pytest.fixture
async def group(operating: Operating) -> int:
    """ci/builds, on the pool `builds`."""
    return await operating.put_group(install=INSTALL, namespace="ci", name="builds", pool="builds", slots=2)


@pytest.fixture
async def leaders(operating: Operating) -> int:
    """ci/leaders, on the pool `leaders`: only one of its runners claims."""
    return await operating.put_group(install=INSTALL, namespace="ci", name="leaders", pool="leaders", leader=True)


@pytest.fixture
def join(database: Database) -> Join:
    """Register a Runner in a group."""

    async def make(
        name: str = "r1",
        *,
        group: str = "builds",
        external: bool = False,
        revision: str | None = "new",
        pod_uid: str | None = None,
        lease: timedelta = timedelta(seconds=30),
    ) -> Incarnation:
        who = Registration(
            name=name, pool="", kinds=("*",), slots=2, lease=lease, install=INSTALL, namespace="ci", group=group,
            external=external, hostname=f"host-{name}", pod_uid=pod_uid or f"uid-{name}", revision=revision,
        )  # fmt: skip
        return await Incarnation.register(database, who)

    return make
