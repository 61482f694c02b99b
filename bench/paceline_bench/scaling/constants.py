"""What was measured, read from the committed results: each number knows where it comes from."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline_bench.errors import BenchError


@dataclass(frozen=True, slots=True)
class Constant:
    """A measured number."""

    name: str
    what: str
    bench: str
    figure: str
    by: float = 1.0
    """What the figure is divided by: a thousand runners, two cores."""
    unit: str = ""


WANTED: Final = (
    Constant("jobs_core", "jobs through a runner, batch 50, for each core", "queue", "runner_50_1p", 2, "jobs/s"),
    Constant("steps", "statements that write and commit, four connections, two cores", "queue", "sdk_1_1p", 1, "/s"),
    Constant("wal", "write-ahead log for a job, claim to finish", "queue", "wal_runner", 1, "bytes"),
    Constant("idle", "statements of 1,000 idle runners in one pool", "runner", "idle_queries", 1, "/s"),
    Constant("runner_mb", "memory of an idle runner", "runner", "idle_rss", 1, "MB"),
    Constant("operator_mb", "memory of the operator, for each of 1,000 runners", "operator", "rss_1000", 1000, "MB"),
    Constant("operator_cpu", "CPU of the operator at rest, for each of 1,000 runners", "operator", "cpu_idle_1000",
             1000, "% of a core"),
    Constant("operator_group_cpu", "CPU of the operator at rest, for each of 500 groups at zero", "growth",
             "cpu_500_operator", 500, "% of a core"),
    Constant("create", "from nothing to a Runner and a Pod, for each of 400", "operator", "pods_0_to_400", 400, "s"),
    Constant("life", "writes to the API server in a runner's plain life", "operator", "writes_per_life", 1, "writes"),
    Constant("gateway_cpu", "CPU of a gateway with 1,000 runners that poll, at 200 jobs/s in all", "gateway",
             "cpu_1000", 1, "% of a core"),
    Constant("gateway_mb", "memory of a gateway with 1,000 runners that poll", "gateway", "weight_1000", 1, "MB"),
    Constant("gateway_idle", "transactions of a gateway with 1,000 runners that poll and get nothing", "gateway",
             "idle_1000", 1, "/s"),
    Constant("job_bytes", "a waiting job with its indexes and an empty payload", "growth", "bytes_backlog", 1, "bytes"),
    Constant("history_bytes", "a finished job with its index", "growth", "bytes_history", 1, "bytes"),
)  # fmt: skip
Measured = dict[str, float]


def read(folder: Path) -> Measured:
    """All of them, from the results in a folder."""
    found: Measured = {}
    for each in WANTED:
        file = folder / f"{each.bench}.json"
        if not file.exists():
            raise BenchError(f"{file.name} is missing: run make bench-{each.bench}")
        medians = {figure["name"]: figure["median"] for figure in json.loads(file.read_text())["figures"]}
        if each.figure not in medians:
            raise BenchError(f"{file.name} has no {each.figure}: run make bench-{each.bench}")
        found[each.name] = medians[each.figure] / each.by
    return found
