"""An operator and its pods whose database is behind PgBouncer in transaction mode."""

import pytest

from cluster.operator.site import Site
from support.bounced import postgres  # noqa: F401 -- it is for the fixtures

pytestmark = pytest.mark.timeout(300)


async def test_a_group_at_zero_gets_a_runner_for_a_job_although_nobody_is_woken(operated: Site) -> None:
    site = operated
    await site.apply(site.group(0, autoscaling={"mode": "Internal", "minReplicas": 0, "maxReplicas": 2}))
    await site.settled(0)
    await site.queue.enqueue("count", 1)
    await site.until(lambda: len(site.marked("runs")) == 1, "the job is done")
    assert "give spec.database's Secret a listenUrl past PgBouncer" in site.log()
