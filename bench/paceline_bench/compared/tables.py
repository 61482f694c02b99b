"""The tables of docs/benchmarks.md."""

from collections.abc import Mapping
from typing import Final

from paceline_bench.compared.elsewhere import KEDA_MORE, ORCH8, Ours
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
    lines = ["| bench | load before | what | found | limit | kept |", "|---|---|---|---|---|---|"]
    for name, each in kept.items():
        shortened = ", shortened" if each.told["quick"] else ""
        load = each.told.get("machine", {}).get("load_before")
        where = f"[{name}](../bench/results/{name}.md), {each.date}{shortened} | {'' if load is None else number(load)}"
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
    lines += [f"| {_label(name)} | {kept['autoscale'].cell(name)} | {' | '.join(cells)} |"
              for name, *cells in KEDA.rows]  # fmt: skip
    return lines + [f"| {what} | {_ours(kept, ours)} | {' | '.join(cells)} |" for what, ours, cells in KEDA_MORE]


def orch8(kept: Mapping[str, Kept]) -> list[str]:
    """What was measured of it earlier."""
    lines = ["| what | Paceline | Orch8 |", "|---|---|---|"]
    return lines + [f"| {what} | {_ours(kept, ours)} | {theirs} |" for what, ours, theirs in ORCH8]


def _ours(kept: Mapping[str, Kept], ours: Ours) -> str:
    """Empty where nothing like it was measured."""
    return kept[ours[0]].cell(ours[1]) if ours else ""


def _label(name: str) -> str:
    from paceline_bench.autoscale import BENCH

    return BENCH.labels[name]
