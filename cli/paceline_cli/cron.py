"""`paceline cron`: jobs by the clock."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    Watch,
)
from paceline_cli.output import Column, ago
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline.cron import CronStatus

app = typer.Typer(no_args_is_help=True, help="Jobs by the clock: each tick exactly once, no leader needed.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The entry's name, unique in its pool.")]


class Overlap(StrEnum):
    """What a tick does while the job of an earlier one is live."""

    ALLOW = "allow"
    SKIP = "skip"


@command(app, "list", source=True)
async def list_entries(session: Session, pool: Pool = DEFAULT_POOL, again: Watch = False) -> None:
    """List the cron entries of a pool, with the next and the last tick."""
    from paceline.admin import pool_named
    from paceline_cli.waiting import watch

    async with session.source() as source:

        async def show() -> None:
            found = await source.list_cron(pool)
            if not found:
                pool_named(await source.list_pools(), pool)
            session.out.rows(found, _columns(await source.now()), none=f"no cron entries in pool {pool}")

        await watch(session, show, again)


@command(app, "put", source=True)
async def put(
    session: Session,
    name: Name,
    schedule: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help='Minute, hour, day, month, weekday, in quotes: "0 8 * * 1-5".')
    ],
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind of the job that each tick makes.")],
    payload: Payload = None,
    pool: Pool = DEFAULT_POOL,
    payload_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Read the payload from a file; "-" is stdin.')
    ] = None,
    timezone: Annotated[str, typer.Option("--timezone", "-z", metavar="ZONE", help="As in Europe/Berlin.")] = "UTC",
    overlap: Annotated[
        Overlap,
        typer.Option(
            metavar="|".join(Overlap), help="skip: a tick makes no job while the one of an earlier tick is live."
        ),
    ] = Overlap.ALLOW,
    stamp: Annotated[
        str | None, typer.Option(metavar="KEY", help="A key of the payload that gets the tick's own moment.")
    ] = None,
    priority: Priority = 5,
    delay: Delay = None,
    expires_in: ExpiresIn = None,
    key: Key = None,
    key_limit: KeyLimit = None,
    tag: Tag = None,
    toleration: Toleration = None,
    max_tries: MaxTries = 5,
    timeout: AttemptTimeout = None,  # noqa: ASYNC109 -- the job's, not ours
) -> None:
    """Make a cron entry, or change the one of that name.

    The same entry may be put at every deployment: a tick that is due is not lost by it, and a pause lasts.

    - `paceline cron put nightly "30 2 * * *" report.build -z Europe/Berlin --overlap skip`
    """
    from paceline.cron import CronEntry
    from paceline.job import NewJob
    from paceline_cli.payload import read_payload

    body = read_payload(payload, payload_file, f'paceline cron put {name} "{schedule}" {kind}')
    job = NewJob(
        kind=kind, payload=body, priority=priority, delay=delay, expires_in=expires_in, key=key, key_limit=key_limit,
        tags=tuple(tag or ()), tolerations=tuple(toleration or ()), max_tries=max_tries, timeout=timeout,
    )  # fmt: skip
    entry = CronEntry(name=name, schedule=schedule, job=job, timezone=timezone, overlap=overlap.value, stamp=stamp)
    async with session.source() as source:
        next_at = await source.put_cron(pool, entry)
        now = await source.now()
    session.out.tell(
        {"name": name, "pool": pool, "next_at": next_at},
        f"cron entry {name} of pool {pool} fires next {ago(next_at, now)} ({next_at:%Y-%m-%d %H:%M:%S} UTC)",
    )


@command(app, "delete", source=True)
async def delete(session: Session, name: Name, pool: Pool = DEFAULT_POOL) -> None:
    """Delete a cron entry. Jobs that it has made stay."""
    from paceline.errors import NotFoundError

    async with session.source() as source:
        if not await source.delete_cron(pool, name):
            raise NotFoundError(f'pool "{pool}" has no cron entry "{name}": see paceline cron list')
    session.out.tell({"name": name, "pool": pool, "deleted": True}, f"cron entry {name} of pool {pool} is deleted")


@command(app, "pause", source=True)
async def pause(session: Session, name: Name, pool: Pool = DEFAULT_POOL) -> None:
    """Let a cron entry rest. Ticks that pass meanwhile are not made up for."""
    await _pause(session, name, pool, True)


@command(app, "resume", source=True)
async def resume(session: Session, name: Name, pool: Pool = DEFAULT_POOL) -> None:
    """End a pause: the next tick is the first one after now."""
    await _pause(session, name, pool, False)


async def _pause(session: Session, name: str, pool: str, paused: bool) -> None:
    async with session.source() as source:
        await source.pause_cron(pool, name, paused)
    session.out.tell(
        {"name": name, "pool": pool, "paused": paused},
        f"cron entry {name} of pool {pool} is {'paused' if paused else 'active'}",
    )


def _columns(now: datetime) -> "list[Column[CronStatus]]":
    return [
        Column("name", lambda entry: entry.name, flex=True),
        Column("schedule", lambda entry: entry.schedule, flex=True),
        Column("timezone", lambda entry: entry.timezone),
        Column("kind", lambda entry: entry.job.get("kind"), flex=True),
        Column("next", lambda entry: "paused" if entry.paused else ago(entry.next_at, now)),
        Column("last", lambda entry: ago(entry.last_at, now)),
        Column(
            "overlap", lambda entry: "skip" if entry.job.get("dedupe") == f"cron:{entry.name}" else "allow", wide=True
        ),
        Column("priority", lambda entry: entry.job.get("priority"), right=True, wide=True),
        Column("payload", lambda entry: _json(entry.job.get("payload")), wide=True),
    ]


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
