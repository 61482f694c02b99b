"""Jobs that are made up: the same ones for the same words and the same seed."""

import math
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import typer

from paceline_operator.domain.scaling.played import Load

HINT: Final = "write it like steady:5/s, day:20/s (the peak, at 14:00) or burst:400@10:00"
UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
DAY: Final = 86_400.0
QUIET: Final = 2 * 3600.0
"""When a day's rate is nothing; twelve hours later it is at its peak."""
MOST_JOBS: Final = 20_000_000

_RATE: Final = re.compile(r"(steady|day):(\d+(?:\.\d+)?)/([smh])")
_BURST: Final = re.compile(r"burst:(\d{1,8})@([01]\d|2[0-3]):([0-5]\d)")


def curve_load(curves: list[str], service: timedelta, length: timedelta, day: date, seed: int) -> Load:
    """All curves together; how long a job takes varies exponentially around the mean, as many real ones do."""
    mean, end = service.total_seconds(), length.total_seconds()
    if mean <= 0:
        raise typer.BadParameter("a job takes more than 0 seconds", param_hint="'--service'")
    luck = random.Random(seed)  # noqa: S311 -- it shall be the same for everybody
    ready: list[float] = []
    for text in curves:
        ready += _moments(text, end, luck)
    ready.sort()
    return Load(datetime.combine(day, time(), UTC), ready, [luck.expovariate(1 / mean) for _ in ready], end)


def _moments(text: str, end: float, luck: random.Random) -> Iterator[float]:
    if burst := _BURST.fullmatch(text):
        count, hours, minutes = (int(part) for part in burst.groups())
        _check_number(text, count)
        first = hours * 3600.0 + minutes * 60.0
        starts = range(math.ceil((end - first) / DAY)) if first < end else range(0)
        return (first + DAY * start for start in starts for _ in range(count))
    if found := _RATE.fullmatch(text):
        kind, number, unit = found.groups()
        rate = float(number) / UNITS[unit]
        _check_number(text, rate * end)
        return _poisson(rate, end, luck, _always if kind == "steady" else _by_day)
    raise typer.BadParameter(f'"{text}" is no curve ({HINT})', param_hint="'--curve'")


def _poisson(rate: float, end: float, luck: random.Random, share: Callable[[float], float]) -> Iterator[float]:
    """Jobs that come on their own, at a share of the rate that may change with the time of day."""
    moment = luck.expovariate(rate) if rate else end
    while moment < end:
        if luck.random() < share(moment):
            yield moment
        moment += luck.expovariate(rate)


def _always(moment: float) -> float:  # noqa: ARG001
    return 1.0


def _by_day(moment: float) -> float:
    return (1 - math.cos(2 * math.pi * (moment - QUIET) / DAY)) / 2


def _check_number(text: str, jobs: float) -> None:
    if jobs > MOST_JOBS:
        raise typer.BadParameter(
            f"{text} is over {MOST_JOBS:,} jobs (lower the rate, or --length)", param_hint="'--curve'"
        )
