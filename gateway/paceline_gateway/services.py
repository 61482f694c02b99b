"""What the routes of one gateway share: the database, and who is let in. Nothing of it outlives the process."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from fastapi import Request, WebSocket
from starlette.types import Scope

from paceline.answers import Answers
from paceline.database import Database
from paceline.dialled import Dialling
from paceline.errors import PacelineError
from paceline.line import Lines
from paceline.queue import Queue
from paceline.tokens import Tokens
from paceline_gateway.auth import Gate
from paceline_gateway.coalesce import Coalescer
from paceline_gateway.dashboard.board import Board
from paceline_gateway.known import KnownTokens
from paceline_gateway.metrics import Metrics
from paceline_gateway.problem import Problem
from paceline_gateway.runners.desk import Desk
from paceline_gateway.runners.hub import Hub
from paceline_gateway.settings import Settings
from paceline_gateway.way import follow

TICK_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 15.0
"""For one statement, and as long again to cancel it. What is done for all, claims and news above all, must not hang
where packets vanish."""
log = logging.getLogger("paceline.gateway")


@dataclass(frozen=True, slots=True)
class Services:
    """One for a process."""

    settings: Settings
    database: Database
    gate: Gate
    answers: Answers
    coalescer: Coalescer
    dialling: Dialling
    desk: Desk
    hub: Hub
    metrics: Metrics
    board: Board
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is told to leave: from then on it is unready."""
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the gateway is about to close: whoever waits is to be told."""


@contextlib.asynccontextmanager
async def opened(settings: Settings, metrics: Metrics) -> AsyncIterator[Services]:
    """Connect, and close in the end."""
    way = settings.way()
    async with await Database.open(
        way.url, size=settings.connections, application="paceline-gateway", answer_seconds=ANSWER_SECONDS
    ) as database:
        lines = Lines(way.listen_url)
        answers, dialling = Answers(database, lines), Dialling(database)
        leaving = asyncio.Event()
        hub = Hub(dialling, lines, metrics, leaving)
        gate = Gate(database, KnownTokens(lines), required=settings.auth)
        await Tokens(database).find("")  # an old schema and a login without its grant are said now
        tasks = [asyncio.create_task(_tick(Queue(database), dialling, metrics))]
        if settings.database_secret is not None:
            tasks.append(asyncio.create_task(follow(settings.database_secret, way, database, lines)))
        try:
            async with gate.running(), answers.running(), hub.running():
                yield Services(
                    settings, database, gate, answers, Coalescer(database, metrics), dialling,
                    Desk(dialling, metrics, abreast=(settings.connections + 1) // 2), hub, metrics, Board(database),
                    leaving=leaving,
                )  # fmt: skip
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _tick(queue: Queue, dialling: Dialling, metrics: Metrics) -> None:
    """The housekeeping, also where no runner with a login does it; and what it found for us to count."""
    while True:
        await asyncio.sleep(TICK_SECONDS)
        try:
            await queue.tick()
            metrics.claim_failed("unconfirmed", await dialling.take_unconfirmed())
        except PacelineError as error:
            log.debug("housekeeping: %s", error)


def services_of(connection: Request | WebSocket) -> Services:
    """The services of the app that a request came to."""
    return services_in(connection.scope)


def services_in(scope: Scope) -> Services:
    """The same, for what stands before the routes; 503 while there are none."""
    found: Services | None = scope["app"].state.services
    if found is None:
        raise Problem(503, "starting", "the gateway has not reached its database yet: try again")
    return found
