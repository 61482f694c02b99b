"""The tables of docs/scaling.md."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from paceline_bench.measure import number
from paceline_bench.scaling.constants import WANTED, Measured
from paceline_bench.scaling.loads import SIZES, loads
from paceline_dev import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "scaling.md"
RATES: Final = (1_000, 10_000, 30_000)
DAY: Final = 86_400
DAYS: Final = 7
Played = Mapping[str, Any]


def constants(seen: Measured) -> list[str]:
    """What everything else is computed from."""
    lines = ["| what | value | from |", "|---|---|---|"]
    for each in WANTED:
        value = f"{number(seen[each.name])} {each.unit}".replace(" /s", "/s")
        source = f"[`{each.figure}`](../bench/results/{each.bench}.md)" + (f" / {each.by:,g}" if each.by != 1 else "")
        lines.append(f"| {each.what} | {value} | {source} |")
    return lines


def breaking(seen: Measured) -> list[str]:
    """What is reached first comes first."""
    heads = " | ".join(f"{size:,}" for size in SIZES)
    lines = [f"| what | {heads} | limit | enough up to | then |", "|---" * (len(SIZES) + 4) + "|"]
    for load in loads(seen):
        cells = []
        for size in SIZES:
            value = load.of(size)
            text = f"{number(value)}{load.unit}"
            cells.append(f"**{text}**" if load.most is not None and value > load.most else text)
        upto = load.upto()
        enough = "" if upto is None else f"{number(_round(upto))} {load.counts}"
        lines.append(f"| {load.what} | {' | '.join(cells)} | {load.limit} | {enough} | {load.then} |")
    return lines


def flowing(seen: Measured) -> list[str]:
    """What jobs cost, however many runners do them."""
    lines = ["| jobs a second | cores | log a second | jobs in history | history on disk |", "|---|---|---|---|---|"]
    for rate in RATES:
        kept = rate * DAY * DAYS
        cells = (
            number(rate / seen["jobs_core"]),
            f"{number(rate * seen['wal'] / 1e6)} MB",
            f"{number(kept / 1e6)} million",
            f"{number(kept * seen['history_bytes'] / 1e9)} GB",
        )
        lines.append(f"| {rate:,} | {' | '.join(cells)} |")
    return lines


def simulated(played: Sequence[Played]) -> list[str]:
    """Days that `paceline simulate` has played."""
    lines = [
        "| most runners | jobs of the day | runner hours | changes of size | wait p50 | p99 |",
        "|---|---|---|---|---|---|",
    ]
    for each in played:
        cells = (
            f"{each['most_runners']:,}",
            f"{each['jobs']:,}",
            number(each["runner_hours"]),
            f"{each['scale_ups'] + each['scale_downs']:,}",
            f"{number(each['wait_p50'])} s",
            f"{number(each['wait_p99'])} s",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def tables(seen: Measured, played: Sequence[Played]) -> dict[str, list[str]]:
    """All of them."""
    return {
        "constants": constants(seen),
        "breaking": breaking(seen),
        "flowing": flowing(seen),
        "simulated": simulated(played),
    }


def _round(value: float) -> float:
    """Two digits: no extrapolation is good for more."""
    return float(f"{value:.2g}")
