"""How it all stands when no job is left: what the statuses say, what there is, and what should not be there."""

import asyncio
import time

from chaos.record import Standing
from chaos.stage import SIZES, Stage
from chaos.work import FIXED, LED, SHARED
from cluster.place import Json, ready
from paceline_dev.node.api import TROUBLE, AnswerError

PATIENCE = 120.0
LEADER = """
    SELECT r.name FROM paceline.leader l JOIN paceline.incarnation i ON i.id = l.incarnation
      JOIN paceline.runner r ON r.id = i.runner JOIN paceline.runner_group g ON g.id = l.grp WHERE g.name = $1
"""


async def settled(stage: Stage) -> None:
    """Wait until every status is true; what is not by then the checker tells."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if all(each.told == each.there for each in await standings(stage)) and not await stuck(stage):
                return
        except (AnswerError, *TROUBLE):
            pass
        await asyncio.sleep(0.5)


async def standings(stage: Stage) -> list[Standing]:
    """Of each group."""
    pods = await stage.pods()
    return [await _standing(stage, name, pods) for name in (SHARED, LED, FIXED)]


async def _standing(stage: Stage, name: str, pods: list[Json]) -> Standing:
    status = await stage.status(name)
    mine = [each for each in pods if each["metadata"]["labels"]["paceline.dev/group"] == name]
    queue = status.get("queue") or {}
    told: dict[str, object] = {
        "pods": status.get("readyReplicas", 0),
        "jobs": sum(int(queue.get(each) or 0) for each in ("ready", "running", "scheduled", "blocked")),
        "leader": (status.get("leader") or {}).get("runner"),
        "ready": next((each["reason"] for each in status.get("conditions", ()) if each["type"] == "Ready"), ""),
        "size": len(mine) if name == SHARED else SIZES[name],
    }
    there: dict[str, object] = {
        "pods": sum(ready(each["status"]) for each in mine),
        "jobs": 0,
        "leader": await stage.database.value(LEADER, name) if name == LED else None,
        "ready": "AsWanted",
        "size": len(mine),
    }
    return Standing(group=name, told=told, there=there)


async def stuck(stage: Stage) -> list[str]:
    """Objects on their way out, Runners without a pod, pods without a Runner."""
    runners, pods = await stage.runners(), await stage.pods()
    found = [f"{each['metadata']['name']} is being deleted" for each in (*runners, *pods)
             if each["metadata"].get("deletionTimestamp")]  # fmt: skip
    inside = {each["metadata"]["name"] for each in runners if not each["spec"].get("external")}
    have = {each["metadata"]["labels"]["paceline.dev/runner"] for each in pods}
    found += [f"Runner {name} has no pod" for name in sorted(inside - have)]
    return found + [f"the pod of {name} has no Runner" for name in sorted(have - inside)]
