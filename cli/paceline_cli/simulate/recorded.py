"""Jobs that there were, from a file or from the history of a pool: when each became ready, and how long it took."""

import csv
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Final

from paceline.database import Database
from paceline.errors import InvalidInputError
from paceline.reading import Reader
from paceline_cli.payload import read_lines
from paceline_operator.domain.scaling.played import Load

READY: Final = "ready"
SERVICE: Final = "service"
LONGEST: Final = 10 * 366 * 86_400.0
MOST: Final = 5_000_000
"""Jobs of a history."""


async def history_load(database: Database, pool: str, since: timedelta) -> Load:
    """The jobs of a pool that came within the last so long and are done."""
    until: datetime = await database.value("SELECT clock_timestamp()")
    found = await Reader(database).list_arrivals(pool, until - since, until, MOST)
    if not found:
        raise InvalidInputError(f'pool "{pool}" has done no job that came in that time: look further back with --since')
    start = found[0][0].replace(microsecond=0)
    ready = [(moment - start).total_seconds() for moment, _ in found]
    return Load(start, ready, [max(0.0, seconds) for _, seconds in found])


def csv_load(file: Path, day: date) -> Load:
    """The jobs of a file with two columns, in any order; a first line of words is a heading."""
    midnight = datetime.combine(day, time(), UTC)
    jobs: list[tuple[float, float]] = []
    dated = 0
    for number, row in _rows(file):
        if not row or (number == 1 and _is_heading(row)):
            continue
        if len(row) < 2:
            raise _wrong(file, number, SERVICE, "", "is missing (write two columns: ready,service)")
        ready, is_moment = _ready(row[0], midnight, file, number)
        dated += is_moment
        jobs.append((ready, _service(row[1], file, number)))
    if not jobs:
        raise InvalidInputError(f"{file} has no jobs: write a line ready,service for each, as in 12.5,3")
    if dated not in (0, len(jobs)):
        raise InvalidInputError(f"{file} has seconds and moments in column {READY} (use one of them)")
    jobs.sort()
    if jobs[-1][0] - (jobs[0][0] if dated else 0.0) > LONGEST:
        raise InvalidInputError(f"{file} spans more than ten years in column {READY} (are these seconds?)")
    if not dated:
        return Load(midnight, [ready for ready, _ in jobs], [took for _, took in jobs])
    first = datetime.fromtimestamp(math.floor(jobs[0][0]), UTC)
    return Load(first, [ready - first.timestamp() for ready, _ in jobs], [took for _, took in jobs])


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(read_lines(file))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InvalidInputError(f"{file} line {reader.line_num} is not CSV: {error}") from None


def _is_heading(row: list[str]) -> bool:
    return len(row) > 1 and _number(row[1]) is None and row[1].strip()[:1].isalpha()


def _ready(text: str, midnight: datetime, file: Path, number: int) -> tuple[float, bool]:
    """Seconds after midnight, or those of a moment since 1970; and which of them it is."""
    seconds = _number(text)
    if seconds is not None:
        if seconds < 0:
            raise _wrong(file, number, READY, text, f"is before the day ({midnight:%Y-%m-%d}): count from its midnight")
        return seconds, False
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        fix = "is neither seconds nor a moment (write it like 12.5 or 2026-05-01T08:00:00Z)"
        raise _wrong(file, number, READY, text, fix) from None
    if moment.tzinfo is None:
        raise _wrong(file, number, READY, text, "has no time zone (append Z for UTC, or an offset like +02:00)")
    return moment.timestamp(), True


def _service(text: str, file: Path, number: int) -> float:
    seconds = _number(text)
    if seconds is None:
        raise _wrong(file, number, SERVICE, text, "is no number of seconds (write it like 2.5)")
    if seconds < 0:
        raise _wrong(file, number, SERVICE, text, "is negative: a job takes 0 seconds or more")
    return seconds


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _wrong(file: Path, number: int, column: str, text: str, problem: str) -> InvalidInputError:
    shown = f' "{text}"' if text else ""
    return InvalidInputError(f"{file} line {number}, column {column}:{shown} {problem}")
