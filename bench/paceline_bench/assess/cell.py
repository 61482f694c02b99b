"""One cell: a rate for a while, and what it did to everybody."""

import asyncio
import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Final

from paceline_bench import histogram, scraped
from paceline_bench.assess.fleet import Fleet, until
from paceline_bench.assess.load import Begun, Produce, flat_out, paced
from paceline_bench.assess.look import DONE, LEFT, READY, WAITED, Mark, Samples, mark, sample
from paceline_bench.assess.place import Place
from paceline_bench.assess.plan import Rate, gated
from paceline_bench.assess.seen import Seen
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import percentile
from paceline_bench.process import Process
from paceline_bench.server import connected
from paceline_bench.systems import BODY
from paceline_bench.workers import writes

if TYPE_CHECKING:
    import asyncpg

WRITES: Final = "paceline_db_write_seconds"
FAILED: Final = "paceline_claims_failed_total"
PATIENCE: Final = 30.0
"""For what is left when no more jobs come."""
PROBES: Final = 20


class Cells:
    """Measures one cell after the other on one station."""

    def __init__(self, place: Place, crew: Fleet, produce: Produce, probe: Process, probe_wal: float) -> None:
        """`probe` writes ten times a second, `probe_wal` is how many bytes of log each of its writes costs."""
        self._place, self._crew, self._produce = place, crew, produce
        self._probe, self._probe_wal = probe, probe_wal

    async def measure(self, runners: int, rate: Rate, warm: float, seconds: float) -> Seen:
        """Let jobs come, wait until everything runs warm, and look for so many seconds."""
        async with connected(self._place.url) as connection, connected(self._place.url) as beside:
            begun = Begun()
            load = asyncio.create_task(self._load(rate, begun, beside))
            try:
                await _while(load, warm)
                before = await mark(self._place, self._crew, begun, connection)
                samples = await sample(connection, load, seconds)
                after = await mark(self._place, self._crew, begun, connection)
            finally:
                await _ended(load)
            self._crew.require()
            await self._drain(connection)
            return await self._seen(connection, runners, rate, before, after, samples)

    async def _load(self, rate: Rate, begun: Begun, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        if rate is not None:
            return await paced(self._produce, rate, begun)

        async def ready() -> int:
            return int(await connection.fetchval(READY))

        return await flat_out(self._produce, ready)

    async def _drain(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Until nothing is left; what patience does not suffice for is seen in the numbers."""

        async def empty() -> bool:
            return not await connection.fetchval(LEFT)

        with contextlib.suppress(NotMeasuredError):
            await until(empty, "the last jobs", PATIENCE)

    async def _seen(
        self, connection: "asyncpg.Connection[asyncpg.Record]", runners: int, rate: Rate, before: Mark, after: Mark,
        samples: Samples,
    ) -> Seen:  # fmt: skip
        waited = await connection.fetchrow(WAITED, before.at, after.at)
        done = await connection.fetchval(DONE, before.at, after.at)
        if waited is None or not waited["jobs"]:
            raise NotMeasuredError("not one job came")
        await connection.execute("DELETE FROM paceline.job WHERE state = 'r'")  # the next cell begins with none
        wrote = [ms for at, ms in self._probe.lines(writes.WROTE) if before.clock <= at < after.clock]
        if not wrote:
            raise NotMeasuredError("not one small write came through")
        if after.active < runners:
            raise NotMeasuredError(f"{after.active} of {runners} runners were left")
        seconds = (after.at - before.at).total_seconds()
        asked, gateway = after.counts.since(before.counts), gated(self._place.way)
        first, last = samples.ends
        coordinators = 100 * (after.coordinators - before.coordinators) / seconds
        return Seen(
            way=self._place.way, runners=runners, rate=rate, seconds=seconds,
            due=None if rate is None else after.due - before.due, jobs=waited["jobs"], done=done / seconds,
            claim_p50=waited["waited"][0], claim_p95=waited["waited"][1], claim_p99=waited["waited"][2],
            unclaimed=waited["unclaimed"], backlog_first=first, backlog_last=last,
            coordinator_cpu=coordinators if self._place.coordinators else None,
            postgres_cpu=100 * (after.server - before.server) / seconds,
            runners_cpu=100 * (after.runners - before.runners) / seconds, machine_cpu=_share(before, after),
            write_p50=percentile(wrote, 50), write_p99=percentile(wrote, 99),
            sync=(after.sync_time - before.sync_time) / max(1.0, after.syncs - before.syncs),
            gateway_write_p95=_writes(before, after) if gateway else None,
            failed=_failed(before, after) if gateway else {"late": int(asked.refused)},
            lost=None if gateway else int(asked.lost),
            errors=int(_counter(before, after, "paceline_http_requests_total", code="[45]..")) if gateway else None,
            empty=None if gateway else (asked.steps - asked.claimed) / max(done, 1),
            connections=max(samples.connections, default=0),
            wal=max(0.0, after.wal - before.wal - self._probe_wal * len(wrote)) / max(done, 1),
        )  # fmt: skip


async def _while(load: "asyncio.Task[None]", seconds: float) -> None:
    """Wait; whoever puts jobs in must not fail meanwhile."""
    done, _ = await asyncio.wait({load}, timeout=seconds)
    for each in done:
        each.result()


async def _ended(task: "asyncio.Task[None]") -> None:
    """Enough of it; what went wrong in it is said."""
    task.cancel()
    (end,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(end, Exception):
        raise end


def _share(before: Mark, after: Mark) -> float:
    """Of all cores, in per cent."""
    busy, every = (later - earlier for earlier, later in zip(before.machine, after.machine, strict=True))
    return 100 * busy / every


def _counter(before: Mark, after: Mark, name: str, **labels: str) -> float:
    """What all gateways have counted meanwhile."""
    return sum(
        scraped.total(later, name, labels) - scraped.total(earlier, name, labels)
        for earlier, later in zip(before.metrics, after.metrics, strict=True)
    )


def _failed(before: Mark, after: Mark) -> dict[str, int]:
    """Claims of all gateways that came to nothing, by why; what never happened is left out."""
    old, new = (
        sum((Counter(scraped.by(text, FAILED, "reason")) for text in mark.metrics), Counter[str]())
        for mark in (before, after)
    )
    return {reason: int(count) for reason, count in (new - old).items()}


def _writes(before: Mark, after: Mark) -> float | None:
    """What 95 of 100 writes of all gateways took."""
    every: dict[float, float] = {}
    for earlier, later in zip(before.metrics, after.metrics, strict=True):
        for bound, count in histogram.since(*(histogram.read(text, WRITES) for text in (earlier, later))).items():
            every[bound] = every.get(bound, 0.0) + count
    found = histogram.quantile(every, 0.95)
    return None if found is None else 1000 * found


async def probe_cost(url: str) -> float:
    """How many bytes of log one small write costs, while nobody else writes."""
    async with connected(url) as connection:
        position = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
        await connection.execute(writes.WRITE, "{}")
        before = await connection.fetchval(position)
        for _ in range(PROBES):
            await connection.execute(writes.WRITE, BODY)
        return float((await connection.fetchval(position) - before) / PROBES)
