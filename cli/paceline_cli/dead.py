"""`paceline dead`: the dead letters, which are kept until somebody puts them back or throws them away."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.options import DEFAULT_POOL, AllPools, Limit, OneJob, Pool, Watch, back_from, moment_or_age
from paceline_cli.output import Column, ago
from paceline_cli.run import OUR_ERROR, Session, command

if TYPE_CHECKING:
    from paceline.job import JobId
    from paceline.seen import DeadJob
    from paceline_cli.source.port import Source

BATCH: Final = 1_000

app = typer.Typer(no_args_is_help=True, help="Dead letters: look at them, put them back, throw them away.")

Kind = Annotated[str | None, typer.Option("--kind", "-k", metavar="KIND", help="Only jobs of this kind.")]
Cause = Annotated[
    str | None, typer.Option(metavar="CAUSE", help="Only those that died of this, as in Failed, Poison or TimedOut.")
]
Since = Annotated[
    str | None,
    typer.Option(parser=moment_or_age, metavar="TIME", help="Only those that died after this: 2h (ago), or a moment."),
]
Until = Annotated[
    str | None, typer.Option(parser=moment_or_age, metavar="TIME", help="Only those that died before this.")
]
Ids = Annotated[list[int] | None, typer.Argument(metavar="ID", help="Ids of dead letters, instead of a filter.")]
All = Annotated[bool, typer.Option("--all", help="All dead letters of the pool.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many it would be.")]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead letters are meant."""

    pool: str | None
    kind: str | None
    cause: str | None
    since: str | None
    until: str | None

    @property
    def narrow(self) -> bool:
        """Whether it leaves anything out but other pools."""
        return any((self.kind, self.cause, self.since, self.until))

    def __str__(self) -> str:
        given = (("kind", self.kind), ("cause", self.cause), ("since", self.since), ("until", self.until))
        parts = [f"{name} {value}" for name, value in given if value is not None]
        return f"in pool {self.pool}" + (f" ({', '.join(parts)})" if parts else "")

    async def find(self, source: "Source", limit: int) -> "Sequence[DeadJob]":
        """The dead letters that it matches, the latest death first."""
        now = await source.now()
        return await source.dead_letters(
            self.pool, kind=self.kind, cause=self.cause, since=back_from(now, self.since),
            until=back_from(now, self.until), limit=limit,
        )  # fmt: skip


@command(app, "list", source=True)
async def list_dead(
    session: Session,
    pool: Pool = DEFAULT_POOL,
    all_pools: AllPools = False,
    kind: Kind = None,
    cause: Cause = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    again: Watch = False,
) -> None:
    """List dead letters, the latest death first."""
    from paceline_cli.waiting import watch

    wanted = Filter(None if all_pools else pool, kind, cause, since, until)
    async with session.source() as source:

        async def show() -> None:
            found = await wanted.find(source, limit)
            none = "no dead letters" if all_pools else f"no dead letters {wanted}"
            session.out.rows(found, _columns(await source.now(), all_pools), none=none)

        await watch(session, show, again)


@command(app, "show", source=True)
async def show_dead(session: Session, job: OneJob) -> None:
    """Show one dead letter: why it died, its attempts and its payload."""
    from paceline.errors import NotFoundError
    from paceline.job import JobId
    from paceline_cli.jobs import show_one

    async with session.source() as source:
        seen = await source.job_detail(JobId(job))
        if seen is None or seen.state != "dead":
            state = "unknown" if seen is None else seen.state
            raise NotFoundError(f"job {job} is no dead letter, it is {state}: see paceline dead list")
        await show_one(session, source, job)


@command(app, "redrive", source=True)
async def redrive(
    session: Session,
    ids: Ids = None,
    pool: Pool = DEFAULT_POOL,
    kind: Kind = None,
    cause: Cause = None,
    since: Since = None,
    until: Until = None,
    everything: All = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Put dead letters back into the queue, as new as on their first day.

    Say which by ids, by a filter, or by --all. With a filter it asks first; --yes answers that. A dead letter whose
    dedupe key is taken by a live job stays where it is.
    """
    wanted = Filter(pool, kind, cause, since, until)
    async with session.source() as source:
        chosen = await _chosen(session, source, ids, wanted, everything, "redrive", yes=yes, dry_run=dry_run)
        if chosen is None:
            return 0
        went = await _in_batches(session, "redriving", chosen, source.redrive)
    left = len(chosen) - len(went)
    text = f"{len(went):,} redriven" + (
        f", {left:,} not: no dead letter any more, or the dedupe key is taken by a live job" if left else ""
    )
    session.out.tell({"redriven": sorted(went), "not_redriven": sorted(set(chosen) - set(went))}, text)
    return OUR_ERROR if left and ids else 0


@command(app, "purge", source=True)
async def purge(
    session: Session,
    ids: Ids = None,
    pool: Pool = DEFAULT_POOL,
    kind: Kind = None,
    cause: Cause = None,
    since: Since = None,
    until: Until = None,
    everything: All = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Delete dead letters for good.

    Say which by ids, by a filter, or by --all. With a filter it asks first; --yes answers that.
    """
    wanted = Filter(pool, kind, cause, since, until)
    async with session.source() as source:
        chosen = await _chosen(session, source, ids, wanted, everything, "purge", yes=yes, dry_run=dry_run)
        if chosen is None:
            return 0
        went = await _in_batches(session, "purging", chosen, source.purge)
    left = len(chosen) - len(went)
    text = f"{len(went):,} purged" + (f", {left:,} not: no dead letter" if left else "")
    session.out.tell({"purged": sorted(went), "not_purged": sorted(set(chosen) - set(went))}, text)
    return OUR_ERROR if left and ids else 0


async def _chosen(
    session: Session, source: "Source", ids: list[int] | None, wanted: Filter, everything: bool, verb: str,
    *, yes: bool, dry_run: bool,
) -> "list[JobId] | None":  # fmt: skip
    """Which ones, after asking where it must be asked; None when nothing is to be done."""
    from paceline.errors import InvalidInputError
    from paceline.job import JobId

    if ids and (wanted.narrow or everything):
        raise typer.BadParameter("ids and a filter exclude each other (give one)", param_hint="'ID'")
    if not ids and not wanted.narrow and not everything:
        raise typer.BadParameter(
            "say which: ids, a filter (--kind, --cause, --since, --until), or --all", param_hint="'ID'"
        )
    if ids:
        chosen = [JobId(each) for each in dict.fromkeys(ids)]
    else:
        chosen = [each.id for each in await wanted.find(source, sys.maxsize)]
    if dry_run:
        session.out.tell({"dry_run": True, verb: sorted(chosen)}, f"would {verb} {len(chosen):,}; nothing was changed")
        return None
    if ids or yes or not chosen:
        return chosen
    question = f"{verb} {len(chosen):,} dead letters {wanted}?"
    if not (sys.stdin.isatty() and session.out.notes.is_terminal):
        raise InvalidInputError(f"{question} Nobody is there to answer: add --yes, or look first with --dry-run")
    if not typer.confirm(question, err=True):
        session.out.note("nothing was changed")
        return None
    return chosen


async def _in_batches(
    session: Session, doing: str, jobs: "Sequence[JobId]", act: "Callable[[Sequence[JobId]], Awaitable[list[JobId]]]"
) -> "list[JobId]":
    from paceline_cli.waiting import progress

    went: list[JobId] = []
    try:
        with progress(session.out, doing, len(jobs)) as show:
            for start in range(0, len(jobs), BATCH):
                went += await act(jobs[start : start + BATCH])
                show(start + BATCH)
    except BaseException:
        session.out.note(f"stopped while {doing}: {len(went):,} of {len(jobs):,} were done")
        raise
    return went


def _columns(now: datetime, all_pools: bool) -> "list[Column[DeadJob]]":
    columns: list[Column[DeadJob]] = [
        Column("id", lambda job: job.id, right=True),
        Column("kind", lambda job: job.kind, flex=True),
        Column("died", lambda job: ago(job.died_at, now)),
        Column("cause", lambda job: job.cause),
        Column("tries", lambda job: f"{job.tries}/{job.max_tries}", right=True),
        Column("losses", lambda job: f"{job.losses}/{job.max_losses}", right=True, wide=True),
        Column("enqueued", lambda job: ago(job.enqueued_at, now), wide=True),
        Column("key", lambda job: job.key, wide=True),
        Column("error", lambda job: " ".join((job.error or "").split()), flex=True),
    ]
    return [Column("pool", lambda job: job.pool, flex=True), *columns] if all_pools else columns
