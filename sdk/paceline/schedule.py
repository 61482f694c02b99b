"""When a cron schedule fires: pure arithmetic on moments, without a database.

A schedule has five fields (minute hour day month weekday, as in `0 8 * * 1-5`), or six with seconds first. What happens
when the clocks change is Debian cron's rule, by cronsim:

- A schedule at fixed hours (`30 2 * * *`) fires once in every night. In the one without 02:30 it fires at the first
  moment after the gap (03:00); in the one with two it fires at the first of them.
- A schedule that begins its minute or hour field with `*` (`*/15 * * * *`), or that has seconds, follows real time:
  nothing in the gap, both passes of the doubled hour.
"""

import difflib
import zoneinfo
from datetime import UTC, datetime, timedelta
from typing import Final

from cronsim import CronSim, CronSimError

from paceline.errors import InvalidInputError
from paceline.job import need

ANY_MOMENT: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Where a schedule is tried from: it repeats, so one that fires after this moment fires after every other."""
SCHEDULE_LIMIT: Final = 256
LOOK_BACK: Final = timedelta(hours=26)
"""More than a day: what a change of the clocks does to a tick is the same wherever one counts from."""
HINT: Final = 'use "minute hour day month weekday", as in "0 8 * * 1-5"'


def next_after(schedule: str, timezone: str, moment: datetime) -> datetime:
    """The first tick after a moment, in UTC."""
    zone = find_zone(timezone)
    if moment.tzinfo is None:
        raise InvalidInputError(f"moment {moment} has no time zone (use an aware datetime)")
    moment = moment.astimezone(UTC)
    for tick in _ticks(schedule, moment.astimezone(zone)):
        # compared in UTC: within one zone Python compares wall clocks, and in a doubled hour those go back
        if tick.astimezone(UTC) > moment:
            return tick.astimezone(UTC)
    raise InvalidInputError(f'schedule "{schedule}" never fires (no such day within 50 years)')


def latest_missed(schedule: str, timezone: str, due_at: datetime, now: datetime) -> tuple[datetime, datetime]:
    """Of an entry that has been due since `due_at`: the last tick up to now, and the first one after it."""
    latest = due_at.astimezone(UTC)
    if now - latest > LOOK_BACK and (recent := next_after(schedule, timezone, now - LOOK_BACK)) <= now:
        latest = recent  # years of seconds may lie before it
    while (following := next_after(schedule, timezone, latest)) <= now:
        latest = following
    return latest, following


def find_zone(name: str) -> zoneinfo.ZoneInfo:
    """The time zone of that name; an error names the closest one that there is."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = {zone.casefold(): zone for zone in zoneinfo.available_timezones()}
    close = difflib.get_close_matches(name.casefold(), known, 1)
    hint = f"did you mean {known[close[0]]}?" if close else "use a name like Europe/Berlin or UTC"
    raise InvalidInputError(
        f'timezone "{name}" is unknown ({hint if known else "this machine has no time zone data: pip install tzdata"})'
    )


def _ticks(schedule: str, start: datetime) -> CronSim:
    try:
        need(len(schedule) <= SCHEDULE_LIMIT, f"schedule has over {SCHEDULE_LIMIT} characters ({HINT})")
        return CronSim(schedule, start)
    except CronSimError as error:
        problem = str(error)
        raise InvalidInputError(f'schedule "{schedule}": {problem[:1].lower()}{problem[1:]} ({HINT})') from None
