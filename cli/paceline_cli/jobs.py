"""`paceline jobs`: look at jobs, cancel them, try them again, wait for them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from paceline_cli.options import DEFAULT_POOL, AllPools, JobIds, Limit, OneJob, Pool, Watch, duration
from paceline_cli.output import Column, Output, ago, span
from paceline_cli.run import OUR_ERROR, Session, command
from paceline_cli.source.pages import in_pages

if TYPE_CHECKING:
    from paceline.job import JobId
    from paceline.seen import Attempt, JobDetail, JobSeen
    from paceline_cli.source.port import Source

JobsNamespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="All pools that groups of this namespace serve."),
]

app = typer.Typer(no_args_is_help=True, help="Look at jobs, cancel them, try them again, wait for them.")


class State(StrEnum):
    """Where a live job can be; the others are in `dead list`, or in history by `jobs show`."""

    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    READY = "ready"
    RUNNING = "running"


@command(app, "list", source=True)
async def list_jobs(
    session: Session,
    pool: Pool = DEFAULT_POOL,
    all_pools: AllPools = False,
    state: Annotated[
        State | None, typer.Option("--state", "-s", metavar="|".join(State), help="Only jobs in this state.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", "-k", metavar="KIND", help="Only jobs of this kind.")] = None,
    limit: Limit = 100,
    namespace: JobsNamespace = None,
    again: Watch = False,
) -> None:
    """List the live jobs of a pool, the newest first.

    Live are jobs that are scheduled, blocked by their key, ready or running. One that has ended is shown by its id,
    with `paceline jobs show ID`; those that failed for good are in `paceline dead list`.
    """
    from paceline_cli.waiting import watch

    async with session.source() as source:
        pools = [None] if all_pools else [pool] if namespace is None else await _pools_of(source, namespace)

        async def show() -> None:
            found: list[JobSeen] = []
            for each in pools:
                found += await _page(source, each, state, kind, limit)
            found = sorted(found, key=lambda job: -job.id)[:limit]
            none = "no live jobs" if all_pools else f"no live jobs in pool {', '.join(map(str, pools))}"
            session.out.rows(found, _columns(await source.now(), len(pools) > 1 or all_pools), none=none)

        await watch(session, show, again)


@command(app, "show", source=True)
async def show_job(session: Session, job: OneJob, again: Watch = False) -> None:
    """Show one job, wherever it is: where it stands, its times, its attempts, its payload and its result."""
    from paceline_cli.waiting import watch

    async with session.source() as source:
        await watch(session, lambda: show_one(session, source, job), again)


@command(app, "cancel", source=True)
async def cancel_jobs(session: Session, jobs: JobIds) -> int:
    """Cancel jobs. One that runs is told so, and ends when its handler does."""
    words = {
        "cancelled": "is cancelled", "cancelling": "runs, and its handler is told", "finished": "has ended already",
        "unknown": "is unknown",
    }  # fmt: skip
    return await _ask_each(session, jobs, lambda source: source.cancel, words)


@command(app, "retry", source=True)
async def retry_jobs(session: Session, jobs: JobIds) -> int:
    """Try jobs again now: dead ones, and those that wait for their next try or their time."""
    words = {
        "retried": "is tried again", "waiting": "is waiting for a runner already", "running": "runs already",
        "duplicate": "stays dead: another job of its dedupe key is live", "finished": "has ended already",
        "unknown": "is unknown",
    }  # fmt: skip
    return await _ask_each(session, jobs, lambda source: source.retry, words)


async def _ask_each(
    session: Session,
    jobs: Sequence[int],
    verb: "Callable[[Source], Callable[[JobId], Awaitable[str]]]",
    words: Mapping[str, str],
) -> int:
    """Do one thing to each job, and say what became of it; the exit code tells whether one could not be helped."""
    from paceline.job import JobId

    async with session.source() as source:
        ask = verb(source)
        answers = [{"id": job, "answer": await ask(JobId(job))} for job in dict.fromkeys(jobs)]
    session.out.tell(answers, "\n".join(f"job {each['id']} {words[str(each['answer'])]}" for each in answers))
    return OUR_ERROR if any(each["answer"] in ("duplicate", "finished", "unknown") for each in answers) else 0


@command(app, "wait")
async def wait_for_job(
    session: Session,
    job: OneJob,
    timeout: Annotated[  # noqa: ASYNC109 -- an option by that name
        timedelta | None, typer.Option(parser=duration, metavar="DURATION", help="How long; for ever if not given.")
    ] = None,
) -> int:
    """Wait until a job has ended, and print its result.

    Exit code: 0 it is done, 3 it is dead, cancelled or expired, 4 it had not ended in time.
    """
    from paceline.job import JobId
    from paceline_cli.source.direct import Direct
    from paceline_cli.waiting import tell_outcome, wait_for

    async with session.database() as database:
        await found_job(Direct(database), job)
        return tell_outcome(session, JobId(job), await wait_for(session, database, JobId(job), timeout))


async def _pools_of(source: "Source", namespace: str) -> "list[str | None]":
    """What the groups of a namespace serve."""
    from paceline.errors import NotFoundError

    groups = await source.find_groups()
    found: list[str | None] = [*{each.pool: None for each in groups if each.namespace == namespace}]
    if not found:
        there = ", ".join(sorted({each.namespace for each in groups if each.namespace})) or "none"
        raise NotFoundError(f"no group of namespace {namespace} may be read (namespaces with groups: {there})")
    return found


async def _page(
    source: "Source", pool: str | None, state: State | None, kind: str | None, limit: int
) -> "list[JobSeen]":
    return await in_pages(
        lambda last, size: source.list_jobs(
            pool, state=state.value if state else None, kind=kind, before=last, limit=size
        ),
        limit,
    )


async def show_one(session: Session, source: "Source", job: int) -> None:
    """A job in the form that was asked for."""
    seen, attempts = await found_job(source, job)
    if session.out.json:
        session.out.write_json({**_dict(seen), "attempts": attempts})
    else:
        draw_job(session.out, seen, attempts, await source.now())


async def found_job(source: "Source", job: int) -> "tuple[JobDetail, Sequence[Attempt]]":
    """A job and its attempts; NotFoundError says that there is none."""
    from paceline.errors import NotFoundError
    from paceline.job import JobId

    seen = await source.job_detail(JobId(job))
    if seen is None:
        raise NotFoundError(
            f"there is no job {job} that this login may read: check the id; history is kept for some days only"
        )
    return seen, await source.job_attempts(JobId(job))


def draw_job(out: Output, job: "JobDetail", attempts: "Sequence[Attempt]", now: datetime) -> None:
    """A job for people."""
    import json

    def at(moment: datetime | None) -> str | None:
        return None if moment is None else f"{ago(moment, now)} ({moment:%Y-%m-%d %H:%M:%S} UTC)"

    def body(value: object) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False)

    state = f"{job.state} (cancelling)" if job.cancelling else job.state
    most = "" if job.max_tries is None else f" of {job.max_tries}"
    losses = f"{job.losses}" + ("" if job.max_losses is None else f" (at most {job.max_losses})")
    started, ended = job.claimed_at, job.finished_at or (now if job.state == "running" else None)
    took = span((ended - started).total_seconds()) if started and ended else None
    out.facts([
        ("Job", job.id), ("Kind", job.kind), ("Pool", job.pool), ("State", state), ("Cause", job.cause),
        ("Error", job.error), ("Runner", job.runner), ("Priority", job.priority), ("Key", job.key),
        ("Dedupe", job.dedupe), ("Tags", job.tags or None), ("Tolerations", job.tolerations or None),
        ("Tries", f"{job.tries}{most}"), ("Runners lost", losses if job.losses else None),
        ("Timeout", None if job.timeout_ms is None else span(job.timeout_ms / 1000)),
        ("Enqueued", at(job.enqueued_at)), ("Due", at(job.run_at)), ("Ready", at(job.ready_at)),
        ("Started", at(started)), ("Ended", at(job.finished_at)), ("Times out", at(job.deadline)),
        ("Expires", at(job.expires_at)),
        ("Took" if job.finished_at else "Runs for", took),
        ("Progress", body(job.progress)), ("Payload", body(job.payload)), ("Result", body(job.result)),
    ])  # fmt: skip
    if attempts:
        out.heading("Attempts")
        out.draw_table(attempts, _attempt_columns(now))


def _dict(job: "JobDetail") -> dict[str, object]:
    import dataclasses

    return {field.name: getattr(job, field.name) for field in dataclasses.fields(job)}


def _columns(now: datetime, all_pools: bool) -> "list[Column[JobSeen]]":
    columns: list[Column[JobSeen]] = [
        Column("id", lambda job: job.id, right=True),
        Column("kind", lambda job: job.kind, flex=True),
        Column("state", lambda job: "cancelling" if job.cancelling else job.state),
        Column("prio", lambda job: job.priority, right=True),
        Column("tries", lambda job: f"{job.tries}/{job.max_tries}", right=True),
        Column("enqueued", lambda job: ago(job.enqueued_at, now)),
        Column("since", lambda job: ago(job.claimed_at or job.run_at or job.ready_at, now)),
        Column("runner", lambda job: job.runner, flex=True),
        Column("key", lambda job: job.key, flex=True, wide=True),
        Column("tags", lambda job: job.tags, wide=True),
        Column("tolerations", lambda job: job.tolerations, wide=True),
        Column("losses", lambda job: f"{job.losses}/{job.max_losses}", right=True, wide=True),
        Column("expires", lambda job: ago(job.expires_at, now), wide=True),
    ]
    return [Column("pool", lambda job: job.pool, flex=True), *columns] if all_pools else columns


def _attempt_columns(now: datetime) -> "list[Column[Attempt]]":
    def took(attempt: "Attempt") -> str | None:
        if attempt.started_at is None:
            return None
        return span(((attempt.ended_at or now) - attempt.started_at).total_seconds())

    return [
        Column("fence", lambda each: each.fence, right=True),
        Column("outcome", lambda each: each.outcome),
        Column("ended", lambda each: ago(each.ended_at, now)),
        Column("took", took, right=True),
        Column("runner", lambda each: each.runner, flex=True),
        Column("revision", lambda each: each.revision, wide=True),
        Column("cause", lambda each: each.cause),
        Column("error", lambda each: each.error, fold=True),
        Column("output", lambda each: each.output, wide=True, fold=True),
    ]
