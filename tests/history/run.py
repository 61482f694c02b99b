"""One run of a plan: everything starts, everything goes wrong, everything is finished; then its history is read."""

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from history import audit
from history.crew import Seat
from history.events import History, Mark
from history.plan import KEY_RATE, KIND_RATE, LED, LED_RUNNERS, POOL_RATE, SHARED, SHARED_RUNNERS, Plan
from history.produce import produce
from history.site import Site
from paceline.testing import PostgresServer
from runner.process import RunnerProcess
from support.proxy import Proxy, proxy

APPS = Path(__file__).parent / "apps"
SURVIVES_A_CRASH = {"synchronous_commit": "on", "full_page_writes": "on"}
"""Without an fsync data is lost with the machine, which is fine here; but not with the server's process."""
STANDSTILL = 60
"""Seconds without any job's end, while all runners are up, after which none is expected any more."""
LEFT = """
    SELECT (SELECT count(*) FROM paceline.job) AS jobs,
           (SELECT max(e.n) FROM audit.event e WHERE e.what IN ('history', 'dead')) AS last
"""


class Run:
    """What a plan becomes."""

    def __init__(self, plan: Plan, site: Site, scratch: Path) -> None:
        self.plan, self.site, self.scratch = plan, site, scratch
        self._seats: list[Seat] = []

    async def play(self) -> History:
        plan, site, over = self.plan, self.site, asyncio.Event()
        await self._prepare()
        async with AsyncExitStack() as stack:
            front = await stack.enter_async_context(proxy(site.url))
            for name in SHARED_RUNNERS + LED_RUNNERS:
                between = await stack.enter_async_context(proxy(site.url))
                self._seats.append(Seat(name, between, site, partial(self._start, name, between.url)))
                stack.push_async_callback(self._seats[-1].end)
                site.unspared.add(name)
            async with asyncio.TaskGroup() as group:
                house = group.create_task(site.keep_house())
                lives = [group.create_task(seat.live(plan.blows[seat.name], over)) for seat in self._seats]
                troubles = [
                    group.create_task(site.suffer(plan)),
                    group.create_task(site.promote(plan)),
                    group.create_task(site.tease(plan)),
                    group.create_task(_cut(front, plan.cuts)),
                ]
                producers = [
                    group.create_task(produce(front.url, number, batches))
                    for number, batches in enumerate(plan.producers)
                ]
                told: dict[int, int] = {}
                for producer in producers:
                    told |= await producer
                site.say("all jobs are enqueued")
                await asyncio.gather(*troubles)
                site.say("no more trouble, but for the runners")
                await self._until_finished()
                over.set()
                await asyncio.gather(*lives)
                house.cancel()
        return await self._read(told)

    async def _prepare(self) -> None:
        async with self.site.connected() as connection:
            await audit.install(connection)
            await connection.execute("SELECT paceline.put_group('main', 'ci', $1, $1, p_leader => true)", LED)
            await connection.execute("SELECT paceline.set_pool($1, p_rate => $2, p_burst => $3)", *POOL_RATE)
            await connection.execute("SELECT paceline.set_kind($1, $2, $3, $4)", SHARED, *KIND_RATE)
            await connection.execute("SELECT paceline.set_key($1, $2, NULL, $3, $4)", SHARED, *KEY_RATE)

    async def _start(self, name: str, url: str) -> RunnerProcess:
        words = ("--group", f"ci/{LED}") if name in LED_RUNNERS else ()
        return await RunnerProcess.start(
            url, self.scratch, name, *words, PACELINE_POOL=SHARED, PACELINE_APP="marking:jobs", PYTHONPATH=str(APPS),
            PACELINE_LISTEN="127.0.0.1:0", PACELINE_SLOTS="6", PACELINE_DRAIN_TIMEOUT_SECS="2",
        )  # fmt: skip

    async def _until_finished(self) -> None:
        """No job is left, or nothing moves any more: then the checker says what is left."""
        last, since = None, time.monotonic()
        while True:
            (row,) = await self.site.rows(LEFT)
            if not row["jobs"] and not self.site.unspared:
                return
            if row["last"] != last or self.site.unspared:
                last, since = row["last"], time.monotonic()
            if time.monotonic() - since > STANDSTILL:
                self.site.say(f"{row['jobs']} jobs are left, and nothing moves any more")
                return
            await asyncio.sleep(0.1)

    async def _read(self, told: dict[int, int]) -> History:
        async with self.site.connected() as connection:
            history = await audit.read(connection)
        history.expected, history.told = self.plan.expected, told
        history.late, history.outages = self.site.late, self.site.outages
        history.marks = read_marks(self.scratch)
        for seat in self._seats:
            history.exits += seat.exits
            history.stopped |= seat.stopped
        return history


async def run(plan: Plan, scratch: Path) -> History:
    """On a server of its own."""
    from paceline.migrate import migrate

    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.2f} s  {text}", file=sys.stderr)  # noqa: T201 -- shown with a failure

    server = await asyncio.to_thread(PostgresServer.start, settings=SURVIVES_A_CRASH)
    try:
        await migrate(server.url)
        site = Site(server, server.url, say)
        try:
            return await Run(plan, site, scratch).play()
        finally:
            site.close()
    finally:
        await asyncio.to_thread(server.stop)


async def _cut(front: Proxy, pauses: tuple[float, ...]) -> None:
    """The producers' connections."""
    for pause in pauses:
        await asyncio.sleep(pause)
        front.cut()


def read_marks(scratch: Path) -> list[Mark]:
    """What the handlers of all processes wrote."""
    marks = []
    for path in scratch.glob("marks.*"):
        pid = int(path.suffix[1:])
        for line in path.read_text().splitlines():
            what, job, fence, at = line.split()
            marks.append(Mark(what=what, job=int(job), fence=int(fence), at=float(at), pid=pid))
    return sorted(marks, key=lambda mark: mark.at)
