"""A laptop for each example, and for those that are about groups a cluster of the test's own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from cluster.conftest import api, control_plane, kubectl, namespace, start_node
from cluster.operator.conftest import crds, gateway, migrated, operated, postgres, queue, site, template
from examples.laptop import EXAMPLES, Laptop
from paceline.database import Database

__all__ = [
    "api", "control_plane", "crds", "gateway", "kubectl", "migrated", "namespace", "operated", "postgres", "queue",
    "site", "start_node", "template",
]  # fmt: skip
OpenLaptop: TypeAlias = Callable[[str], Laptop]


@pytest.fixture
async def laptop(migrated: str, tmp_path: Path) -> AsyncIterator[OpenLaptop]:
    """One in the folder of an example."""
    async with await Database.open(migrated) as database, AsyncExitStack() as terminals:
        yield lambda name: Laptop(EXAMPLES / name, migrated, database, tmp_path, terminals)
