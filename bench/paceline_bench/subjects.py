"""Who is compared: a queue, and the process that empties it."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline_bench import drain, paceline_command
from paceline_bench.errors import NotMeasuredError
from paceline_bench.paceline_command import RunnerCommand
from paceline_bench.process import Command, Process, Start, worker
from paceline_bench.server import connected
from paceline_bench.systems import System

if TYPE_CHECKING:
    import asyncpg


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A process that empties a queue."""

    name: str
    system: System
    command: Start
    processes: int = 1
    """So many of them side by side."""
    require: Callable[[], None] = lambda: None
    """Raises where this cannot be had here."""


def subjects() -> Sequence[Subject]:
    """All of them, in the order of each round."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import paceline, pgqueuer, procrastinate, raw

    def ours(name: str, system: System, module: str, *arguments: object) -> Subject:
        return Subject(name=name, system=system, command=lambda url: worker(module, url, *arguments))

    bare = replace(paceline.SYSTEM, done=None)  # nobody keeps a record of what two statements do
    return (
        ours("slim_50x4", raw.SYSTEM, "raw", "slim", 50, 4),
        ours("raw_50x4", bare, "raw", "own", 50, 4),
        ours("sdk_50x4", paceline.SYSTEM, "sdk", 50, 4),
        runner("runner_50x4", paceline.SYSTEM, 50, 4),
        ours("pgqueuer_50x4", pgqueuer.SYSTEM, "pgqueuer", 50, 4),
        ours("slim_200x4", raw.SYSTEM, "raw", "slim", 200, 4),
        ours("raw_200x4", bare, "raw", "own", 200, 4),
        runner("runner_200x4", paceline.SYSTEM, 200, 4),
        ours("pgqueuer_200x4", pgqueuer.SYSTEM, "pgqueuer", 200, 4),
        ours("procrastinate", procrastinate.SYSTEM, "procrastinate", 10, 4),
    )


def runner(name: str, system: System, batch: int, dispatchers: int, processes: int = 1) -> Subject:
    """The real runner. Twice the slots that one round of claims fills: PgQueuer wants at least as much of itself."""

    def command(url: str) -> Command:
        slots = 2 * batch * dispatchers
        return RunnerCommand(port=free_ports(1)[0], slots=slots, batch=batch, dispatchers=dispatchers).on(url)

    return Subject(name=name, system=system, command=command, processes=processes, require=paceline_command.require)


@dataclass(frozen=True, slots=True)
class Emptied:
    """What it took to empty a queue."""

    rate: float
    """Jobs per second."""
    wal: float
    """Bytes of write-ahead log per job."""
    commits: float
    """Transactions per job."""


COST = """
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())"""


async def empty(subject: Subject, server: PostgresServer, template: str, jobs: int, within: float) -> Emptied:
    """Let a subject empty a fresh copy of a full queue."""
    async with server.database(template) as url, connected(url) as connection:
        there = await connection.fetchval(f"SELECT count(*) FROM {subject.system.table}")  # also reads it into memory
        if there != jobs:
            raise NotMeasuredError(f"the queue holds {there} jobs, not {jobs}")
        await connection.execute("CHECKPOINT")
        wal, commits = await _cost(connection)
        with contextlib.ExitStack() as stack:
            commands = [subject.command(url) for _ in range(subject.processes)]
            processes = [stack.enter_context(Process(each)) for each in commands]
            drained = await drain.watch(connection, subject.system, processes, within=within)
        if subject.system.done and (done := await connection.fetchval(subject.system.done)) != jobs:
            raise NotMeasuredError(f"{done} of {jobs} jobs were done well")
        wal_after, commits_after = await _cost(connection)
    return Emptied(drained.rate, (wal_after - wal) / jobs, max(0, commits_after - commits - drained.looks) / jobs)


async def _cost(connection: "asyncpg.Connection[asyncpg.Record]") -> tuple[int, int]:
    """Log and transactions so far; a backend reports its own when it ends, so all workers must have."""
    await connection.execute("SELECT pg_stat_force_next_flush()")
    row = await connection.fetchrow(COST)
    assert row is not None
    return row[0], row[1]
