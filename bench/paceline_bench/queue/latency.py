"""How long one claim takes on one connection, whatever else the queue holds.

All databases are open at the same time, and the claims go round: each value of a round stands beside the others'.
A claim is committed; what it took is finished, and as much enqueued again, before the next one.
"""

import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.queue import contents
from paceline_bench.server import connected
from paceline_bench.systems import NOOP, Produce, System

BATCH: Final = 50
READY: Final = 1_000
LANES: Final = 500
IN_A_ROW: Final = 5
"""Claims for one value, their median: the first after a while also does the housekeeping, as one in many would."""
PEERS: Final = ("pgqueuer", "chancy", "procrastinate", "saq")
CONTENTS: Final = ("1k", "1m_ready", "1m_future", "200k_1m_future")
NAMES: Final = (
    *(f"claim_{what}" for what in (*CONTENTS, "20k_blocked", "500_lanes")),
    *(f"claim_{what}_{peer}" for peer in PEERS for what in CONTENTS),
    "claim_20k_blocked_procrastinate",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is and how often it is claimed."""

    million: int
    many: int
    """Ready jobs beside a million of tomorrow's."""
    blocked: int
    rounds: int
    warm: int = 10


FULL: Final = Size(million=1_000_000, many=200_000, blocked=20_000, rounds=60)
QUICK: Final = Size(million=20_000, many=10_000, blocked=2_000, rounds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A queue with something in it."""

    name: str
    system: System
    fill: Callable[[str], Awaitable[None]]
    producer: Callable[[str, str], AbstractAsyncContextManager[Produce]]
    """What is enqueued again after each claim."""


def own_cases(size: Size) -> list[Case]:
    """Paceline's."""
    from paceline_bench.systems import paceline

    async def blocked(url: str) -> None:
        await paceline.install(url)
        await contents.block(url, size.blocked)
        await _tick(url)
        await contents.fill(url, paceline.SYSTEM, READY)

    async def spread(url: str) -> None:
        await paceline.install(url)
        async with lanes(url, NOOP) as produce:
            await produce(READY)
        await _analyze(url)

    lanes = partial(contents.laned, lanes=LANES)
    system = paceline.SYSTEM
    return [
        *_cases("claim_{}", system, size),
        Case(name="claim_20k_blocked", system=system, fill=blocked, producer=system.producer),
        Case(name="claim_500_lanes", system=system, fill=spread, producer=lanes),
    ]


def peer_cases(size: Size) -> list[Case]:
    """Everybody else's. Only procrastinate has something like a key: a lock that one job has at a time."""
    # imported here: the tests of this package run where the peers are not installed
    from paceline_bench.systems import chancy, pgqueuer, procrastinate, saq

    async def blocked(url: str) -> None:
        await procrastinate.install(url)
        async with procrastinate.producer(url, NOOP, lambda _: "one") as produce:
            await produce(2)
        async with connected(url) as connection:
            await contents.copy_rows(connection, procrastinate.SYSTEM, size.blocked, {"priority": "9"})
            await connection.execute(
                "UPDATE procrastinate_jobs SET status = 'doing' WHERE id = (SELECT min(id) FROM procrastinate_jobs)"
            )
        await contents.fill(url, replace(procrastinate.SYSTEM, install=_nothing), READY)

    systems = [each.SYSTEM for each in (pgqueuer, chancy, procrastinate, saq)]
    locks = Case(
        name="claim_20k_blocked_procrastinate",
        system=procrastinate.SYSTEM,
        fill=blocked,
        producer=procrastinate.SYSTEM.producer,
    )
    return [*(case for each in systems for case in _cases(f"claim_{{}}_{each.name}", each, size)), locks]


def _cases(name: str, system: System, size: Size) -> list[Case]:
    def case(what: str, ready: int, future: int = 0) -> Case:
        fill = partial(contents.fill, system=system, ready=ready, future=future)
        return Case(name=name.format(what), system=system, fill=fill, producer=system.producer)

    return [
        case("1k", READY),
        case("1m_ready", size.million),
        case("1m_future", READY, size.million),
        case("200k_1m_future", size.many, size.million),
    ]


async def measure(run: Run, server: PostgresServer, cases: list[Case], size: Size) -> list[Measurement]:
    """Fill all, then go round."""
    wanted = [each for each in cases if run.wants(each.name)]
    found: list[Measurement] = []
    async with contextlib.AsyncExitStack() as stack:
        turns = []
        with run.report.task("filling queues", len(wanted)) as task:
            for each in wanted:
                turns.append((each.name, await stack.enter_async_context(_turn(server, each))))
                task.advance(each.name)
            async with connected(server.url) as connection:
                await connection.execute("CHECKPOINT")
        with run.report.task("claims", size.rounds) as task:
            for number in range(size.warm + size.rounds):
                for name, turn in turns:
                    took = await turn()
                    if number >= size.warm:
                        found.append(Measurement(name, took * 1000, "ms"))
                if number >= size.warm:
                    task.advance("")
    return found


@contextlib.asynccontextmanager
async def _turn(server: PostgresServer, case: Case) -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """A queue that is ready to be claimed from; each call claims some times and gives the seconds of one."""
    assert case.system.claimer is not None
    async with server.database() as url:
        await case.fill(url)
        async with case.system.claimer(url, BATCH) as claimer, case.producer(url, NOOP) as produce:

            async def once() -> float:
                began = time.perf_counter()
                claimed = await claimer.claim()
                took = time.perf_counter() - began
                if not claimed:
                    raise NotMeasuredError(f"{case.name}: nothing was claimed")
                await claimer.finish()
                await produce(claimed)
                return took

            async def turn() -> float:
                return statistics.median([await once() for _ in range(IN_A_ROW)])

            yield turn


async def _tick(url: str) -> None:
    """Let the housekeeping admit what the key allows, and let somebody hold it."""
    from paceline_bench.systems import paceline

    async with connected(url) as connection:
        await connection.execute("UPDATE paceline.tick SET next_at = '-infinity'")
        await connection.fetchval("SELECT paceline.tick()")
    async with paceline.claimer(url, 1, "holder") as holder:
        if await holder.claim() != 1:
            raise NotMeasuredError("nobody could take the key")


async def _analyze(url: str) -> None:
    async with connected(url) as connection:
        await connection.execute("VACUUM (ANALYZE)")


async def _nothing(_: str) -> None:
    """The schema is there."""
