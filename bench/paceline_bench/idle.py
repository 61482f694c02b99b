"""What a thousand runners without work cost the database.

A thousand processes with their connections do not fit on one machine. So one process runs a thousand of the runner's
own dispatchers, each under a registration of its own, with the heartbeats and the housekeeping that the runner does
beside them, over shared connections. That this asks the database what real runners ask is not believed but checked: one
of these and one real process are counted first, and nothing is reported where they differ.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from paceline import Queue
from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.line import Line
from paceline.testing import PostgresServer
from paceline_bench.errors import NotMeasuredError
from paceline_bench.life import Lives
from paceline_bench.measure import Measurement
from paceline_bench.noop import jobs
from paceline_bench.server import connected
from paceline_bench.systems.paceline import POOL, SYSTEM
from paceline_bench.templates import Templates

if TYPE_CHECKING:
    import asyncpg

    from paceline_runner.attempt import Attempt, Ended
    from paceline_runner.executors import Executors
    from paceline_runner.metrics import Metrics

RUNNERS: Final = 1000
CONNECTIONS: Final = 8
LINES: Final = 4
UNIT: Final = "queries/s"
# a call is one statement, and so one transaction; what a connection pool asks besides is a transaction too
COUNT: Final = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
TOLERANCE: Final = 0.3
BEGUN: Final = 12.0
"""What a runner asks when it begins is counted by then: sessions that rest report it after ten seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long it is counted."""

    settle: float
    """Registrations, and polls that have not yet learned how many there are, are over after this."""
    seconds: float
    one: float
    """For the comparison of one with one."""


FULL: Final = Size(settle=60, seconds=60, one=40)
QUICK: Final = Size(settle=15, seconds=15, one=15)


async def queries(server: PostgresServer, templates: Templates, lives: Lives, size: Size) -> list[Measurement]:
    """Queries per second of all of them together, as the database counts them."""
    async with lives.idle() as runner, connected(runner.url) as connection:
        await asyncio.sleep(BEGUN)
        real = await transactions_per_second(connection, size.one)
    ours = await _driven(server, templates, 1, settle=BEGUN, seconds=size.one)
    if abs(ours - real) > TOLERANCE * real:
        raise NotMeasuredError(f"a driven runner asks {ours:.1f} times a second, a real one {real:.1f} times")
    many = await _driven(server, templates, RUNNERS, settle=size.settle, seconds=size.seconds)
    return [
        Measurement("idle_queries_one_real", real, UNIT),
        Measurement("idle_queries_one_driven", ours, UNIT),
        Measurement("idle_queries", many, UNIT),
    ]


async def _driven(server: PostgresServer, templates: Templates, count: int, *, settle: float, seconds: float) -> float:
    template = await templates.full(SYSTEM, 0)
    async with (
        server.database(template) as url,
        idle_runners(url, count) as tasks,
        connected(url) as connection,
    ):
        await asyncio.sleep(settle)
        found = await transactions_per_second(connection, seconds)
        live = await connection.fetchval("SELECT count(*) FROM paceline.incarnation WHERE state = 'a'")
        if ended := [task for task in tasks if task.done()]:
            raise NotMeasuredError(f"{len(ended)} of {count} idle runners ended") from ended[0].exception()
        if live != count:
            raise NotMeasuredError(f"{live} of {count} idle runners are registered")
    return found


class Nobody:
    """Does the work of an idle runner."""

    async def run(self, attempt: "Attempt") -> "Ended":
        """There is none."""
        raise NotMeasuredError(f"an idle runner was given job {attempt.job.id}")


@contextlib.asynccontextmanager
async def idle_runners(url: str, count: int) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Keep so many idle runners alive on a database."""
    from paceline_runner.executors import Executors
    from paceline_runner.metrics import Metrics

    executors, metrics = Executors(Nobody(), lambda _: Nobody(), POOL), Metrics(POOL)
    async with await Database.open(url, size=CONNECTIONS) as database:
        lines = [await Line.open(url) for _ in range(LINES)]
        tasks = [
            asyncio.create_task(_idle(database, lines[number % LINES], number, executors, metrics))
            for number in range(count)
        ]
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for line in lines:
                line.close()


async def _idle(database: Database, line: Line, number: int, executors: "Executors", metrics: "Metrics") -> None:
    """One of them: what `paceline_runner.runner` does with a registration, without its thread and its port."""
    from paceline_runner.direct import HOUSE_PAUSE
    from paceline_runner.dispatcher import Dispatcher
    from paceline_runner.settings import Settings
    from paceline_runner.tenure import Tenure
    from paceline_runner.workbench import Workbench

    settings = Settings(database_url="", name=f"idle-{number}", pool=POOL)
    who = Registration(name=settings.name, pool=POOL, kinds=jobs.kinds, slots=settings.slots)
    incarnation = await Incarnation.register(database, who)
    tenure = Tenure(incarnation, time.monotonic() + settings.lease, lambda: None)
    tenure.listening = True
    bench = Workbench(settings, jobs, executors, metrics)
    dispatcher = Dispatcher(settings, tenure, bench, metrics, lambda: None)

    async def beat() -> None:
        over = incarnation.over(line)
        while True:
            await over.heartbeat()
            tenure.renew(time.monotonic() + settings.lease)
            await asyncio.sleep(settings.heartbeat)

    async def keep_house() -> None:
        queue = Queue(database, POOL)
        while True:
            await asyncio.sleep(HOUSE_PAUSE * dispatcher.runners * random.uniform(0.5, 1.5))  # noqa: S311 -- as there
            await queue.tick()

    await asyncio.gather(dispatcher.run(), beat(), keep_house())


async def transactions_per_second(connection: "asyncpg.Connection[asyncpg.Record]", seconds: float) -> float:
    """What a database does in a time, without our own two looks.

    A busy session reports its counts once a second, an idle one after ten: seconds should be many more.
    """
    loop = asyncio.get_running_loop()
    before, began = await connection.fetchval(COUNT), loop.time()
    await asyncio.sleep(seconds)
    after, ended = await connection.fetchval(COUNT), loop.time()
    return float(max(after - before - 1, 0) / (ended - began))
