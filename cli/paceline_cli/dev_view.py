"""What `paceline dev` shows: the newest jobs, how many there are, and what the runner says."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar

from paceline.admin import database_now
from paceline.errors import NotFoundError, PacelineError
from paceline.job import JobId, NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from paceline_cli.output import Column, Output, span

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from paceline.database import Database
    from paceline.seen import JobDetail, PoolSeen, RunnerSeen, Unclaimable

T = TypeVar("T")
KEPT: Final = 50
"""So many jobs are followed."""
AHEAD: Final = 16
"""So many numbers after the newest known job are tried: an enqueue that was rolled back leaves a gap."""
LOG_LINES: Final = 8
LEAST_ROWS: Final = 3
AROUND: Final = 8
"""Lines of the view that are neither jobs nor log."""
ENDED: Final = frozenset(("done", "dead", "cancelled", "expired"))
FAR: Final = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """A job, wherever it is, in the words of the table."""

    id: JobId
    kind: str
    state: str
    tries: str
    enqueued_at: datetime
    ended_at: datetime | None
    runner: str | None
    says: str
    """Its progress, its result, or the error of its last try."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything at one moment."""

    rows: list[Row]
    now: datetime
    pool: "PoolSeen | None" = None
    runners: "tuple[RunnerSeen, ...]" = ()
    unclaimable: "tuple[Unclaimable, ...]" = ()


class Recent:
    """The newest jobs of a pool.

    Most jobs of a laptop come and go between two looks, and no list shows them. Their numbers follow one another, so
    the next ones are simply asked for.
    """

    def __init__(self, database: "Database", pool: str, newest: int | None = None) -> None:
        """`newest`: the number of the newest job, if it is known."""
        self._database, self._pool = database, pool
        self._reader = Reader(database)
        self._newest = newest
        self._first = True
        self._rows: dict[JobId, Row] = {}
        self._foreign: set[JobId] = set()
        """Jobs of other pools."""
        self.done = 0
        """How many were seen to end well."""

    async def look(self) -> list[Row]:
        """Look again; what is new since the last time. Nothing is new the first time."""
        first, self._first = self._first, False
        listed = await _or_none(self._reader.list_jobs(self._pool, limit=KEPT))
        listed += await _or_none(self._reader.list_jobs(self._pool, state="running", limit=KEPT))
        if self._newest is None:
            self._newest = await self._begin()
        self._newest = max([self._newest, *(job.id for job in listed)])
        await self._go_on()
        latest = {JobId(number) for number in range(max(1, self._newest - KEPT + 1), self._newest + 1)}
        self._foreign &= latest
        wanted = {job.id for job in listed} | {job for job, row in self._rows.items() if row.state not in ENDED}
        wanted |= latest - self._rows.keys() - self._foreign
        news = [row for row in await self._rows_of(wanted) if self._rows.get(row.id) != row]
        self._rows |= {row.id: row for row in news}
        self.done += 0 if first else sum(row.state == "done" for row in news)
        self._forget()
        return [] if first else sorted(news, key=lambda row: row.id)

    async def picture(self) -> Picture:
        """All that is known, with the counts of the pool."""
        pools, runners, odd, now = await asyncio.gather(
            self._reader.list_pools(),
            _or_none(self._reader.list_runners(self._pool)),
            _or_none(self._reader.unclaimable(self._pool)),
            database_now(self._database),
        )
        pool = next((each for each in pools if each.name == self._pool), None)
        rows = sorted(self._rows.values(), key=lambda row: (row.state not in ("running", "cancelling"), -row.id))
        return Picture(rows, now, pool, tuple(runners), tuple(odd) if runners else ())  # before that, nothing can run

    async def _begin(self) -> int:
        """Where the numbers stand: the next one, of a job that is never committed."""
        try:
            async with self._database.connection() as connection:
                transaction = connection.transaction()
                await transaction.start()
                try:
                    job = NewJob(kind="paceline.dev", priority=0)
                    return (await Queue(self._database, self._pool).enqueue(job, connection=connection)).id
                finally:
                    await transaction.rollback()
        except PacelineError:  # one who may only look, or a pool that is full
            return 0

    async def _go_on(self) -> None:
        assert self._newest is not None
        width = AHEAD
        while await self._reader.job_detail(JobId(self._newest + width)):  # many at once: in ever wider steps
            self._newest += width
            width = min(FAR, width * 2)
        window = [JobId(self._newest + step) for step in range(1, AHEAD)]
        found = await asyncio.gather(*map(self._reader.job_detail, window))
        self._newest = max([self._newest, *(job.id for job in found if job)])

    async def _rows_of(self, jobs: Iterable[JobId]) -> list[Row]:
        found = [job for job in await asyncio.gather(*map(self._reader.job_detail, jobs)) if job]
        self._foreign |= {job.id for job in found if job.pool != self._pool}
        return list(await asyncio.gather(*(self._row(job) for job in found if job.pool == self._pool)))

    async def _row(self, job: "JobDetail") -> Row:
        says = _short(job.progress if job.state == "running" else job.result)
        if job.state == "dead":
            says = f"{job.cause}: {_first_line(job.error)}" if job.error else str(job.cause)
        elif not says and job.tries and job.state not in ENDED:
            attempts = await self._reader.job_attempts(job.id)
            says = next((_first_line(each.error) for each in attempts if each.error), "")
        state = "cancelling" if job.cancelling else job.state
        tries = f"{job.tries}" + (f"/{job.max_tries}" if job.max_tries else "")
        return Row(job.id, job.kind, state, tries, job.enqueued_at, job.finished_at, job.runner, says)

    def _forget(self) -> None:
        """Keep what is live and the newest of the others."""
        ended = sorted((job for job, row in self._rows.items() if row.state in ENDED), reverse=True)
        for job in ended[KEPT:]:
            del self._rows[job]


class Plain:
    """One line for each event, where nobody looks at a terminal."""

    def __init__(self, out: Output) -> None:
        """Write to its stdout."""
        self._out = out
        self._told: set[str] = set()

    def heard(self, line: str) -> None:
        """The runner wrote a line."""
        self._say(line)

    def note(self, text: str) -> None:
        """Something happened to the runner or the database."""
        self._say(f"dev: {text}")

    def broken(self, why: str | None) -> None:
        """The runner cannot start."""
        if why:
            self._say(f"dev: the runner cannot start: {why}")

    def show(self, news: list[Row], picture: Picture, done: int) -> None:  # noqa: ARG002 -- the other one needs them
        """Tell what is new."""
        for row in news:
            self._say(f"dev: job {row.id} {row.kind} is {row.state}{f': {row.says}' if row.says else ''}")
        waiting = {each.detail: _waiting(each) for each in picture.unclaimable}
        for detail in waiting.keys() - self._told:
            self.note(waiting[detail])
        self._told = set(waiting)

    def _say(self, text: str) -> None:
        self._out.write(_clean(text))
        self._out.flush()


class Board:
    """A table that is drawn anew, with the log below."""

    def __init__(self, out: Output, live: "Live") -> None:
        """Draw on a `live` that somebody else begins and ends."""
        self._out, self._live = out, live
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._why: str | None = None

    def heard(self, line: str) -> None:
        """The runner wrote a line; it is shown with the next picture."""
        self._lines.append(line)

    def note(self, text: str) -> None:
        """Something happened to the runner or the database."""
        self._lines.append(f"dev: {text}")

    def broken(self, why: str | None) -> None:
        """The runner cannot start."""
        self._why = why

    def show(self, news: list[Row], picture: Picture, done: int) -> None:  # noqa: ARG002 -- the other one needs them
        """Draw it."""
        from rich.console import Group
        from rich.text import Text

        body = self._problem() if self._why else self._jobs(picture)
        log = [Text(_clean(line), style="dim", no_wrap=True, overflow="ellipsis") for line in self._lines]
        counts = Text(_counts(picture, done), style="bold", no_wrap=True, overflow="ellipsis")
        odd = [
            Text(_waiting(each), style="yellow", no_wrap=True, overflow="ellipsis")
            for each in picture.unclaimable[:LEAST_ROWS]
        ]
        self._live.update(Group(body, Text(), counts, *odd, *log), refresh=True)

    def _problem(self) -> "RenderableType":
        from rich.text import Text

        return Text.assemble(
            ("The runner cannot start:\n", "bold red"), (f"{_clean(self._why or '')}\n", "red"),
            "It comes back when a .py file is saved. Ctrl-C ends it all.",
        )  # fmt: skip

    def _jobs(self, picture: Picture) -> "RenderableType":
        from rich.text import Text

        room = max(LEAST_ROWS, self._out.console.height - LOG_LINES - AROUND)
        if not picture.rows:
            return Text("No jobs yet. In another terminal: paceline enqueue KIND PAYLOAD")
        return self._out.table(picture.rows[:room], _columns(picture.now))


async def _or_none(asked: Awaitable[list[T]]) -> list[T]:
    """A list; an empty one of a pool that does not begin before its first job or runner."""
    try:
        return await asked
    except NotFoundError:
        return []


def _columns(now: datetime) -> list[Column[Row]]:
    return [
        Column("id", lambda row: row.id, right=True),
        Column("kind", lambda row: row.kind, flex=True),
        Column("state", lambda row: row.state),
        Column("tries", lambda row: row.tries, right=True),
        Column("age", lambda row: span((now - row.enqueued_at).total_seconds()), right=True),
        Column("runner", lambda row: row.runner, flex=True),
        Column("progress, result or error", lambda row: row.says, flex=True),
    ]


def _counts(picture: Picture, done: int) -> str:
    who = ", ".join(f"{each.id} {each.state} {each.instances_claimed}/{each.slots}" for each in picture.runners[:2])
    counts = {name: getattr(picture.pool, name, 0) for name in ("ready", "running", "scheduled", "blocked", "dead")}
    said = [f"{name} {count:,}" for name, count in counts.items() if count or name in ("ready", "running")]
    return " · ".join([f"runner {who}" if who else "no runner", *said, f"{done:,} done since the start"])


def _waiting(each: "Unclaimable") -> str:
    return f"{each.jobs:,} cannot run: {each.detail}"


def _short(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _clean(text: str) -> str:
    """What a handler prints must not move the cursor."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)
