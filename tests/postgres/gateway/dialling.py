"""Runners that dialled, as a gateway has them."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

from paceline.claims import IncarnationId
from paceline.database import Database
from paceline.dialled import Connection, Dialled, Dialling, Heartbeat, News, Offer, Round
from paceline.job import Claimed, Fence, JobId
from paceline.tokens import Tokens

OFFER = "SELECT incarnation, verdict, ids FROM paceline.offer($1, $2, $3, $4, 30)"
NO_TICK = "UPDATE paceline.tick SET next_at = 'infinity'"


async def dial(database: Database, name: str = "laptop", *, socket: bool = False, **can: Any) -> Dialled:
    """A runner with a token of its own."""
    token = await Tokens(database).create("rk", pool="builds", runner=name)
    return await Dialling(database).register(token.split("_")[1], socket=socket, **{"kinds": ["*"], **can})


async def token_of(database: Database, runner: Dialled) -> str:
    """The id of its token."""
    return str(await database.value("SELECT token FROM paceline.incarnation WHERE id = $1", runner.incarnation))


def by(runner: Dialled) -> Connection:
    """How it is reached."""
    return Connection(runner.incarnation, runner.session)


async def offer(database: Database, *runners: Dialled, want: int = 1) -> Round:
    """Claim for them in this order."""
    return await Dialling(database).offer(runners[0].pool, {by(each): want for each in runners})


def arguments(*runners: Dialled, want: int = 1) -> tuple[object, ...]:
    """Of the statement `OFFER`."""
    sessions = [each.session for each in runners]
    return runners[0].pool, [each.incarnation for each in runners], sessions, [want] * len(runners)


def found(told: Round) -> dict[IncarnationId, tuple[JobId, ...]]:
    """Who got what, of those that were tried."""
    return {each.incarnation: tuple(job.id for job in each.jobs) for each in told.offers}


async def take(database: Database, runner: Dialled, want: int = 1) -> tuple[Claimed, ...]:
    """Claim for one."""
    (only,) = (await offer(database, runner, want=want)).offers
    assert isinstance(only, Offer)
    return only.jobs


async def beat(database: Database, runner: Dialled, *jobs: Claimed, by_request: bool = False) -> News:
    """A heartbeat that names these."""
    connection = Connection(runner.incarnation) if by_request else by(runner)
    runs = {job.id: job.fence for job in jobs}
    return (await Dialling(database).beat([Heartbeat(connection, runs)]))[connection]


async def job_row(database: Database, job: JobId) -> tuple[str, int | None, int, int]:
    """State, holder, tries and losses of a live job."""
    (row,) = await database.rows("SELECT state, incarnation, tries, losses FROM paceline.job WHERE id = $1", job)
    return row["state"].decode(), row["incarnation"], row["tries"], row["losses"]


async def cause(database: Database, runner: Dialled) -> str | None:
    """Why it ended; None while it lives."""
    found: str | None = await database.value("SELECT cause FROM paceline.incarnation WHERE id = $1", runner.incarnation)
    return found


async def has_time(database: Database, runner: Dialled) -> None:
    """As if the seconds in which it may come back were minutes."""
    more = "UPDATE paceline.incarnation SET lease_until = lease_until + interval '5 minutes' WHERE id = $1"
    await database.value(more, runner.incarnation)


@contextlib.asynccontextmanager
async def leased_for(database: Database, span: timedelta) -> AsyncIterator[None]:
    """What is done within leaves the one registration so long a lease."""
    before = await database.value("SELECT clock_timestamp()")
    yield
    (row,) = await database.rows("SELECT lease_until, clock_timestamp() AS after FROM paceline.incarnation")
    assert before + span <= row["lease_until"] <= row["after"] + span


async def confirmations_are_due(database: Database) -> None:
    """As if 30 s had passed."""
    await database.value("UPDATE paceline.offer SET until = clock_timestamp()")


def pairs(jobs: Sequence[Claimed]) -> dict[JobId, Fence]:
    """As a runner names them."""
    return {job.id: job.fence for job in jobs}
