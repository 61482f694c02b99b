"""What everything weighs, looked at every few seconds."""

import asyncio
import contextlib
import statistics
import time
from collections import defaultdict
from typing import Final

import psutil

from paceline_bench.site import NAMESPACE
from paceline_bench.soak.stage import LED, Stage

PAUSE: Final = 10.0
WEIGHTS: Final = ("operator", "standby", "gateway", "runner")
"""Memory of processes that live from the beginning to the end, MB."""
BOUNDED: Final = ("live", "registry")
"""Tables whose size depends on what is there, not on what there was, MB with their indexes."""
NAMES: Final = (*WEIGHTS, "connections", *BOUNDED, "past", "runners", "waiting")
CONNECTIONS: Final = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'bench'"""
SIZES: Final = """
SELECT CASE WHEN c.relname ~ '^(job|lane|band|mark|key|knock|waiter|call|once|offer|unconfirmed|live_output)$'
            THEN 'live'
            WHEN c.relname ~ '^(runner|runner_group|runner_taint|incarnation|leader|group_kinds)$'
            THEN 'registry' ELSE 'past' END, sum(pg_total_relation_size(c.oid))::float8 / 1e6
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'paceline' AND c.relkind = 'r' GROUP BY 1"""
WAITING: Final = "SELECT count(*) FROM paceline.job WHERE state = 'r'"
ACTIVE: Final = "SELECT count(*) FROM paceline.incarnation WHERE state = 'a' AND lease_until > clock_timestamp()"


class Samples:
    """Points by what was looked at."""

    def __init__(self, stage: Stage) -> None:
        """Nothing was seen yet."""
        self._stage, self._began = stage, time.monotonic()
        self.points: dict[str, list[tuple[float, float]]] = defaultdict(list)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(PAUSE)

    async def look(self) -> None:
        """Once."""
        stage, now = self._stage, time.monotonic() - self._began
        database = stage.database
        first, second = stage.operators
        for each in (first.process, second.process, stage.door.process):
            each.require()
        active, standby = (first, second) if await first.leads() else (second, first)
        found = {
            "operator": weight(active.process.pid),
            "standby": weight(standby.process.pid),
            "gateway": stage.door.weight,
            "connections": float(await database.value(CONNECTIONS)),
            "waiting": float(await database.value(WAITING)),
            "runners": float(await database.value(ACTIVE)),
            **{row[0]: float(row[1]) for row in await database.rows(SIZES)},
        }
        if runners := await self._long_lived():
            found["runner"] = statistics.fmean(runners)
        for name, value in found.items():
            self.points[name].append((now, value))

    async def _long_lived(self) -> list[float]:
        """Runners of the group that is never updated nor scaled."""
        found = []
        for pod in await self._stage.site.pods():
            if (pod["metadata"].get("labels") or {}).get("paceline.dev/group") == LED:
                for pid in self._stage.node.pids(NAMESPACE, pod["metadata"]["name"]):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        found.append(weight(pid))
        return found


def weight(pid: int) -> float:
    """Resident memory in MB."""
    return float(psutil.Process(pid).memory_info().rss / 1e6)
