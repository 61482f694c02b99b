"""How a test says that it runs behind PgBouncer: by the parameter of its server, or by the fixture `bouncer`."""

import pytest

from paceline.testing import PostgresServer
from support.bouncer import BouncedServer

BOUNCED = "pg18-bouncer"


@pytest.fixture(scope="session")
def postgres(bouncer: BouncedServer) -> PostgresServer:
    """For a file to import: all databases of its tests are then behind PgBouncer."""
    return bouncer


def is_bounced(item: pytest.Item) -> bool:
    """Whether a test that is made for each server is the one behind PgBouncer."""
    made_for = getattr(item, "callspec", None)
    return made_for is not None and made_for.params.get("postgres") == BOUNCED
