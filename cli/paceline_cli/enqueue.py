"""`paceline enqueue`: one job, or one for each line of a file."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.options import (
    DEFAULT_POOL,
    AttemptTimeout,
    Delay,
    ExpiresIn,
    Key,
    KeyLimit,
    MaxTries,
    Payload,
    Pool,
    Priority,
    Tag,
    Toleration,
    duration,
    moment,
)
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from pydantic import JsonValue

    from paceline.job import NewJob
    from paceline.queue import Queue

BATCH: Final = 1_000


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "enqueue")(enqueue)


async def enqueue(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Which handler the job is for, as in email.send.")],
    payload: Payload = None,
    pool: Pool = DEFAULT_POOL,
    payload_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Read the payload from a file; "-" is stdin.')
    ] = None,
    lines: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='One job for each line of a file, which is its payload as JSON; "-" is stdin.'
        ),
    ] = None,
    priority: Priority = 5,
    delay: Delay = None,
    run_at: Annotated[
        datetime | None,
        typer.Option(parser=moment, metavar="TIME", help="Not before this moment, as in 2026-05-01T08:00:00Z."),
    ] = None,
    expires_in: ExpiresIn = None,
    key: Key = None,
    key_limit: KeyLimit = None,
    dedupe: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Make no second job while one of this kind with the same text is live."),
    ] = None,
    tag: Tag = None,
    toleration: Toleration = None,
    max_tries: MaxTries = 5,
    timeout: AttemptTimeout = None,  # noqa: ASYNC109 -- the job's, not ours
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the result: exit 0 done, 3 dead, cancelled or expired, 4 too late.")
    ] = False,
    wait_timeout: Annotated[
        timedelta | None,
        typer.Option(parser=duration, metavar="DURATION", help="With --wait: how long; for ever if not given."),
    ] = None,
) -> int | None:
    """Put a job into a pool.

    PAYLOAD is any JSON, and null if it is left out. With --lines a file of one payload per line becomes one job each,
    in batches of 1,000; a batch goes in as a whole or not at all.

    - `paceline enqueue email.send '{"to": "ann"}' --priority 7`
    - `paceline enqueue report --delay 5m --key ann --wait`
    - `jq -c '.[]' orders.json | paceline enqueue order.import --lines -`
    """
    from paceline.job import NewJob
    from paceline.queue import Queue
    from paceline_cli.payload import read_payload
    from paceline_cli.waiting import tell_outcome, wait_for

    def job(body: "JsonValue") -> NewJob:
        return NewJob(
            kind=kind, payload=body, priority=priority, delay=delay, run_at=run_at, expires_in=expires_in, key=key,
            key_limit=key_limit, dedupe=dedupe, tags=tuple(tag or ()), tolerations=tuple(toleration or ()),
            max_tries=max_tries, timeout=timeout,
        )  # fmt: skip

    if lines is not None:
        if wait or payload is not None or payload_file is not None:
            raise typer.BadParameter("it excludes PAYLOAD, --payload-file and --wait", param_hint="'--lines'")
        job(None)  # what is wrong with the options is said before the first line is read
        async with session.database() as database:
            await _enqueue_lines(session, Queue(database, pool), lines, job)
        return None
    single = job(read_payload(payload, payload_file, f"paceline enqueue {kind}"))
    async with session.database() as database:
        made = await Queue(database, pool).enqueue(single)
        text = f"job {made.id} is in pool {pool}" if made.created else f"job {made.id} was in pool {pool} already"
        if not wait:
            session.out.tell({"id": made.id, "created": made.created, "pool": pool}, text)
            return None
        session.out.note(text)
        return tell_outcome(session, made.id, await wait_for(session, database, made.id, wait_timeout))


async def _enqueue_lines(
    session: Session, queue: "Queue", file: Path, job: "Callable[[JsonValue], NewJob]"
) -> None:  # fmt: skip
    from paceline.errors import PacelineError
    from paceline_cli.payload import STDIN, decode, read_lines
    from paceline_cli.waiting import progress

    source = "stdin" if str(file) == STDIN else str(file)
    numbered = ((number, line) for number, line in enumerate(read_lines(file), 1) if line.strip())
    read = created = last = 0
    try:
        with progress(session.out, "enqueueing") as show:
            while batch := list(islice(numbered, BATCH)):
                jobs = [job(decode(line, f"line {number} of {source}", "correct it")) for number, line in batch]
                made = await queue.enqueue_many(jobs)
                read += len(made)
                created += sum(each.created for each in made)
                last = batch[-1][0]
                show(read)
    except PacelineError:
        done = (
            f"the {read:,} jobs up to line {last} are in: go on from line {last + 1}"
            if last
            else "nothing was enqueued"
        )
        session.out.note(done)
        raise
    known = f", {read - created:,} were there already" if created < read else ""
    session.out.tell(
        {"lines": read, "created": created, "pool": queue.pool}, f"{created:,} jobs are in pool {queue.pool}{known}"
    )
