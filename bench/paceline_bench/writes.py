"""What a runner's plain life costs the API server, by its own audit log."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from paceline import NewJob, Queue
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.node import node
from paceline_bench.operator_command import operator
from paceline_bench.server import connected
from paceline_bench.site import Site, until
from paceline_dev.audit import Write

JOBS_EACH: Final = 5
UNIT: Final = "writes"
OWN: Final = ("runners", "pods")


async def count(site: Site, runners: int) -> list[Measurement]:
    """Created, ready, some short jobs, scaled down: all writes of the operator's own account, for each runner."""
    await site.trust(site.url)
    async with node(site), operator(site):
        await site.add_group("builds", runners)
        await site.settled(1, runners)
        await _work(site, runners * JOBS_EACH)
        await site.scale("builds", 0)
        await site.settled(1, 0)
        await until(lambda: _empty(site), "all pods are gone")
        found = site.writes()
    return per_life(found, runners)


def per_life(writes: Iterable[Write], runners: int) -> list[Measurement]:
    """Those to Runners and pods, whatever came of them; events apart; the group's own status, finalizer and budget.

    A dry run is apart as well: there is one for each revision of a group, however many runners it has.
    """
    kinds = Counter(_kind(each) for each in writes)
    if not kinds["own"]:
        raise NotMeasuredError("the audit log has no write of the operator")
    own, events, dry = kinds.pop("own"), kinds.pop("events", 0), kinds.pop("dry", 0)
    return [
        Measurement("writes_per_life", own / runners, UNIT),
        Measurement("event_writes_per_life", events / runners, UNIT),
        Measurement("group_writes_per_life", kinds.total() / runners, UNIT),
        Measurement("dry_runs_per_group", dry, "requests"),
    ]


def _kind(write: Write) -> str:
    if write.dry_run:
        return "dry"
    return "own" if write.resource in OWN else write.resource


async def _empty(site: Site) -> bool:
    return await site.count_pods() == 0


async def _work(site: Site, jobs: int) -> None:
    queue = await Queue.connect(site.url, "builds", connections=1)
    try:
        await queue.enqueue_many([NewJob(kind="noop") for _ in range(jobs)])
    finally:
        await queue.close()
    async with connected(site.url) as connection:

        async def done() -> bool:
            return bool(await connection.fetchval("SELECT count(*) FROM paceline.job") == 0)

        await until(done, "all jobs are done")
