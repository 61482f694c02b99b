"""Those who look on: the statuses of groups, the ends of pods, and writes that come too late."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import asyncpg

from chaos.record import Seen
from chaos.seats import Ended
from chaos.stage import Stage
from cluster.operator.watcher import GROUPS
from cluster.place import Json
from history.events import Late
from history.site import LATE_CALLS, LOST, Site
from paceline_dev.node.api import TROUBLE, AnswerError

AGAIN = 0.5
KILLED = 137
DOOMED = ("crashing",)
"""Images whose end is the point of them."""


async def watch_groups(stage: Stage, seen: list[Seen]) -> None:
    """Until it is cancelled."""
    async for found in _changes(stage, GROUPS.format(stage.namespace)):
        status = found.get("status") or {}
        leader, decided = status.get("leader") or {}, status.get("recommendation") or {}
        seen.append(Seen(
            group=found["metadata"]["name"], at=time.time(), generation=int(status.get("observedGeneration") or 0),
            epoch=leader.get("epoch"), leader=leader.get("runner"), size=decided.get("replicas"),
        ))  # fmt: skip


async def watch_pods(stage: Stage, ends: list[Ended]) -> None:
    """Until it is cancelled: how the runners in pods end, each once."""
    known: set[str] = set()
    async for found in _changes(stage, f"/api/v1/namespaces/{stage.namespace}/pods"):
        meta = found["metadata"]
        for each in (found.get("status") or {}).get("containerStatuses") or ():
            ended = (each.get("state") or {}).get("terminated")
            if ended and each["image"] not in DOOMED and meta["uid"] not in known:
                known.add(meta["uid"])
                code = int(ended["exitCode"])
                ends.append(Ended(name=f"pod {meta['name']}", code=code, killed=code == KILLED))


async def _changes(stage: Stage, path: str) -> AsyncIterator[Json]:
    """Every object as it is and as it becomes, whatever happens to the API server."""
    while True:
        try:
            found = await stage.api.get(path)
            for each in found["items"]:
                yield each
            async for kind, each in stage.api.watch(path, found["metadata"]["resourceVersion"]):
                if kind != "BOOKMARK":
                    yield each
        except (AnswerError, *TROUBLE):
            await asyncio.sleep(AGAIN)


async def write_late(site: Site, late: list[Late]) -> None:
    """Until it is cancelled: say for runners that were lost what they would say if they woke up now."""
    while True:
        with contextlib.suppress(asyncpg.PostgresError, TimeoutError):  # in trouble: then nothing is written
            for job, fence, incarnation in await site.rows(LOST):
                for call, sql in LATE_CALLS.items():
                    refused = await site.value(sql, incarnation, [job], [fence]) == [job]
                    late.append(Late(call=call, job=job, fence=fence, refused=refused))
        await asyncio.sleep(AGAIN)
