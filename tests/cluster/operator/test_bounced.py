"""An operator and its pods whose database is behind PgBouncer in transaction mode."""

import pytest

from cluster.operator.site import Site
from paceline.testing import PostgresServer
from support.bouncer import BouncedServer, bounced
from support.pg import one_server

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="session")
def bouncer(tmp_path_factory: pytest.TempPathFactory) -> BouncedServer:
    return bounced(tmp_path_factory, one_server(tmp_path_factory))


@pytest.fixture(scope="session")
def postgres(bouncer: BouncedServer) -> PostgresServer:
    return bouncer


async def test_a_group_at_zero_gets_a_runner_for_a_job_although_nobody_is_woken(operated: Site) -> None:
    site = operated
    await site.apply(site.group(0, autoscaling={"mode": "Internal", "minReplicas": 0, "maxReplicas": 2}))
    await site.settled(0)
    await site.queue.enqueue("count", 1)
    await site.until(lambda: len(site.marked("runs")) == 1, "the job is done")
    assert "give spec.database's Secret a listenUrl past PgBouncer" in site.log()
