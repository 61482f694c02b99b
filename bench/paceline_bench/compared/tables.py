"""The tables of docs/benchmarks.md."""

from collections.abc import Mapping
from typing import Final

from paceline_bench.compared.results import Kept, spread
from paceline_bench.keda import KEDA
from paceline_bench.marked import Tables
from paceline_bench.measure import number
from paceline_dev import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "benchmarks.md"
PEERS: Final = {"pgqueuer": "PgQueuer", "procrastinate": "procrastinate", "chancy": "Chancy", "saq": "SAQ"}
QUEUES: Final = (
    ("no-op jobs, batch 50, one process", "{who}_50_1p"),
    ("the same, batch 200", "{who}_200_1p"),
    ("one job in each enqueue", "enqueue_one_{enqueuer}"),
    ("many jobs in each enqueue", "enqueue_many_{enqueuer}"),
    ("enqueue to start on an idle worker, p99", "start_{enqueuer}_p99"),
    ("a claim with 1M ready", "claim_1m_ready{suffix}"),
    ("write-ahead log for a job", "wal_{who}"),
)
ORCH8: Final = (
    ("one-step tasks, end to end", ("queue", "runner_1_1p"), "127/s (16 workers)"),
    ("created one by one by HTTP", ("gateway", "http_one"), "564/s; 18/s with 100,000 active"),
    ("created in batches by HTTP", ("gateway", "http_many"), "19,640/s"),
    ("created to worker, half of them", ("gateway", "p50_50"), "78 ms (polls every 5 ms)"),
    ("created to worker, 99 of 100", ("gateway", "p99_50"), "134 ms (polls every 5 ms)"),
    ("a worker's pod dies: another may have its job", ("operator", "kill_to_claimable"), "65 to 90 s"),
    ("the node that decides is killed: the other acts", ("failover", "kill_to_act"), "332 to 439 s; in one of three "
     "runs 22 of 53 instances failed"),
    ("write-ahead log for a job", ("queue", "wal_runner"), "20 kB"),
    ("commits for a job", ("queue", "commits_runner"), "32"),
)  # fmt: skip


def tables(kept: Mapping[str, Kept]) -> Tables:
    """All of them."""
    return {"peers": peers(kept), "results": results(kept), "queues": queues(kept["queue"]), "keda": keda(kept),
            "orch8": orch8(kept)}  # fmt: skip


def peers(kept: Mapping[str, Kept]) -> list[str]:
    """Who, and which version."""
    versions = kept["queue"].told["versions"]
    lines = ["| peer | version | in |", "|---|---|---|"]
    lines += [f"| {label} | {versions[name]} | the same run |" for name, label in PEERS.items()]
    return [
        *lines,
        f"| PostgreSQL | {versions['postgres']} | all |",
        f"| Kubernetes | {kept['operator'].told['versions']['control_plane'].removeprefix('v')} | all with a cluster |",
        "| KEDA | 2.21.0 | an earlier run |",
        "| Orch8 engine | 0.7.1 | an earlier run |",
    ]


def results(kept: Mapping[str, Kept]) -> list[str]:
    """Every budget with what was found; a figure that a budget judges has its spread in the bench's own page."""
    lines = ["| bench | what | found | limit | kept |", "|---|---|---|---|---|"]
    for name, each in kept.items():
        shortened = ", shortened" if each.told["quick"] else ""
        where = f"[{name}](../bench/results/{name}.md), {each.date}{shortened}"
        for budget in each.told["budgets"]:
            figure = each.figures.get(budget["name"])
            found = "not measured" if figure is None else spread(figure)
            limit = f"{budget['op']} {number(budget['limit'])}"
            what = budget["design"].partition(": ")[2]
            lines.append(f"| {where} | {what} | {found} | {limit} | {'yes' if budget['ok'] else '**no**'} |")
    return lines


def queues(kept: Kept) -> list[str]:
    """Queues in Python on Postgres, in one run."""
    who = {"paceline": "Paceline", **PEERS}
    lines = [f"| what | {' | '.join(who.values())} |", "|---" * (len(who) + 1) + "|"]
    for what, pattern in QUEUES:
        lines.append(f"| {what} | {' | '.join(_of(kept, pattern, each) for each in who)} |")
    return lines


def _of(kept: Kept, pattern: str, who: str) -> str:
    ours = who == "paceline"
    name = pattern.format(who="runner" if ours else who, enqueuer=who, suffix="" if ours else f"_{who}")
    alone = name.replace("_50_1p", "_1p")  # some claim one job at a time, whatever they are told
    figure = kept.figures.get(name) or (kept.figures.get(alone) if alone != name else None)
    return spread(figure) if figure else ""


def keda(kept: Mapping[str, Kept]) -> list[str]:
    """What was measured of it earlier."""
    lines = [f"| what | Paceline | {' | '.join(KEDA.columns)} |", "|---" * (len(KEDA.columns) + 2) + "|"]
    return lines + [f"| {_label(name)} | {kept['autoscale'].cell(name)} | {' | '.join(cells)} |"
                    for name, *cells in KEDA.rows]  # fmt: skip


def orch8(kept: Mapping[str, Kept]) -> list[str]:
    """What was measured of it earlier."""
    lines = ["| what | Paceline | Orch8 |", "|---|---|---|"]
    return lines + [f"| {what} | {kept[bench].cell(name)} | {theirs} |" for what, (bench, name), theirs in ORCH8]


def _label(name: str) -> str:
    from paceline_bench.autoscale import BENCH

    return BENCH.labels[name]
