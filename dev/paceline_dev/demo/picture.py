"""How everything stands at one moment, for whoever draws it."""

from dataclasses import dataclass

from paceline.reading import Reader
from paceline_dev.demo.load import Load
from paceline_dev.demo.stage import Stage
from paceline_dev.node.wire import Json

GROUP_TITLES = ("GROUP", "DISPATCH", "WANTED", "READY", "QUEUED", "RUNNING", "LEADER")
RUNNER_TITLES = ("RUNNER", "POD", "STATE", "JOBS", "TAINTS")


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows of cells, in the order of the titles."""

    groups: tuple[tuple[str, ...], ...] = ()
    runners: tuple[tuple[str, ...], ...] = ()
    operators: tuple[str, ...] = ()
    enqueued: int = 0
    done: int = 0


async def look(stage: Stage, load: Load) -> Picture:
    """Take one."""
    reader = Reader(stage.database)
    pools = {each.name: each for each in await reader.list_pools()}
    crew = sorted(await reader.list_runners(), key=lambda each: (each.group, each.id))
    groups = []
    for each in await stage.groups():
        pool = pools.get(each["metadata"]["name"])
        groups.append(group_row(each, pool.ready if pool else 0, pool.running if pool else 0))
    runners = tuple(
        (each.id + (" *" if each.leader else ""), each.hostname, each.state, f"{each.instances_claimed}/{each.slots}",
         ",".join(each.taints) or "-")
        for each in crew
    )  # fmt: skip
    operators = tuple((await stage.operators()).values())
    return Picture(tuple(groups), runners, operators, load.enqueued, await stage.books.done())


def group_row(group: Json, ready: int, running: int) -> tuple[str, ...]:
    """One group; what its status does not say yet is a dash."""
    spec, status = group["spec"], group.get("status") or {}
    leader = (status.get("leader") or {}).get("runner") or "-"
    return (
        group["metadata"]["name"], spec.get("dispatch", "Shared"), str(spec.get("replicas", "-")),
        str(status.get("readyReplicas", "-")), str(ready), str(running), leader,
    )  # fmt: skip
