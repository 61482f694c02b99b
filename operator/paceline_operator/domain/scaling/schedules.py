"""The floor under the size, by the clock."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from paceline.errors import InvalidInputError
from paceline.schedule import ANY_MOMENT, find_zone, next_after
from paceline_operator.api.autoscaling import Autoscaling, Schedule

FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class Floor:
    """The fewest runners that are allowed now, the field that says so, and when it may be another one."""

    replicas: int
    field: str
    until: datetime | None

    @property
    def scheduled(self) -> bool:
        """Whether it is the clock that says so."""
        return self.field != "minReplicas"


def floor_at(spec: Autoscaling, now: datetime) -> Floor:
    """The highest of minReplicas and of all schedules that are active; a schedule that cannot be read never is."""
    replicas, field = spec.min_replicas, "minReplicas"
    edges: list[datetime] = []
    for place, schedule in enumerate(spec.schedules):
        length = timedelta(seconds=schedule.duration_seconds)
        start = _start_after(schedule.cron, schedule.timezone, _whole_minute(now - length))
        if start is None:
            continue
        active = start <= now
        edges.append(start + length if active else start)
        if active and schedule.min_replicas > replicas:
            replicas, field = schedule.min_replicas, f"schedules[{place}].minReplicas"
    return Floor(min(replicas, spec.max_replicas), field, min(edges, default=None))


def schedule_problems(spec: Autoscaling) -> tuple[str, ...]:
    """What keeps a schedule from ever being active, with the field and the fix; the others still count."""
    return tuple(
        f"autoscaling.schedules[{place}].{problem}"
        for place, schedule in enumerate(spec.schedules)
        if (problem := _problem(schedule))
    )


def _problem(schedule: Schedule) -> str | None:
    try:
        find_zone(schedule.timezone)
    except InvalidInputError as error:
        return str(error)
    if _start_after(schedule.cron, schedule.timezone, ANY_MOMENT) is not None:
        return None
    try:
        next_after(schedule.cron, schedule.timezone, ANY_MOMENT)
    except InvalidInputError as error:
        return f"cron: {error}"
    return f'cron: schedule "{schedule.cron}" has not five fields (write it like "0 8 * * 1-5")'


def _whole_minute(moment: datetime) -> datetime:
    """Schedules start at whole minutes, so the next start after any moment of a minute is the same."""
    return moment.replace(second=0, microsecond=0)


@lru_cache(maxsize=4096)
def _start_after(cron: str, timezone: str, minute: datetime) -> datetime | None:
    """When a schedule starts next; remembered, because cron arithmetic takes ten times as long as all other rules."""
    if len(cron.split()) != FIELDS:
        return None
    try:
        return next_after(cron, timezone, minute.astimezone(UTC))
    except InvalidInputError:
        return None
