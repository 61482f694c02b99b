"""Tables over the number of runners, with a column for each way."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from paceline_bench.assess.plan import WAYS, Rate, real
from paceline_bench.assess.seen import Seen
from paceline_bench.measure import number

Shows = Callable[[Seen], str]
NOTHING: Final = "-"
"""Where there is no number."""
FULL: Final = " *"
"""Behind what was seen on a full machine."""


def by_size(cells: Sequence[Seen], rate: Rate, shows: Shows) -> list[str]:
    """One row for each number of runners; what was not measured is left open."""
    here = {(each.way, each.runners): each for each in cells if each.rate == rate}
    ways = [way for way in WAYS if any(way == there for there, _ in here)]
    lines = table(["runners", *(WAYS[way] for way in ways)])
    for runners in sorted({runners for _, runners in here}):
        found = [here.get((way, runners)) for way in ways]
        shown = ["" if each is None else f"{shows(each)}{FULL if each.full else ''}" for each in found]
        lines.append(row([f"{runners:,}{'' if real(runners) else ' (shared)'}", *shown]))
    return lines


def table(heads: Sequence[str]) -> list[str]:
    """Its first two lines."""
    return [row(heads), "|---" * len(heads) + "|"]


def row(columns: Iterable[str]) -> str:
    """One line of it."""
    return f"| {' | '.join(columns)} |"


def ms(value: float) -> str:
    """A time: 4.2 ms; 340 ms; 12.1 s."""
    return f"{number(value)} ms" if value < 1000 else f"{value / 1000:.3g} s"


def reasons(counted: Mapping[str, int]) -> str:
    """How many in all, and why: 17 (refused 2, undelivered 15)."""
    why = ", ".join(f"{reason} {number(count)}" for reason, count in sorted(counted.items()) if count)
    return f"{number(sum(counted.values()))}{f' ({why})' if why else ''}"


def optional(value: float | None) -> str:
    """A number that there need not be."""
    return NOTHING if value is None else number(value)
