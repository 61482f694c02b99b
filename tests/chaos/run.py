"""One run of a plan: everything works, goes wrong round by round, and comes back; then all that is known is read."""

import asyncio
import random
import time
import traceback
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import asyncpg

from chaos.blows.every import AFTERWARDS, BLOWS
from chaos.blows.scene import NotAsItMust, NotHere, Scene
from chaos.cost import claim_costs
from chaos.faults import ABOUT, Fault
from chaos.plan import Plan, Round
from chaos.producers import Producers
from chaos.record import Injected, Record
from chaos.settle import settled, standings, stuck
from chaos.stage import Stage, staged
from chaos.watch import watch_groups, watch_pods, write_late
from chaos.work import EACH_MINUTE, FIXED, LED, SHARED, probe
from history import audit
from history.events import History
from history.run import read_marks
from history.site import Site
from paceline.cron import Cron
from paceline.errors import PacelineError
from paceline.testing import PostgresServer
from paceline_dev.gobuild import KUBERNETES_VERSION
from paceline_dev.node.api import TROUBLE, AnswerError
from paceline_dev.progress import Reporter

BOUND = 150.0
"""Seconds in which all must work again after a fault."""
STANDSTILL = 90.0
"""Seconds without any job's end after which none is expected any more."""
COUNTS = 3
"""Times that counting is tried: somebody may have wanted the same locks."""
DONE = "SELECT NOT EXISTS (SELECT FROM paceline.job WHERE id = ANY ($1))"
LEFT = """
    SELECT (SELECT count(*) FROM paceline.job) AS jobs,
           (SELECT max(e.n) FROM audit.event e WHERE e.what IN ('history', 'dead')) AS last
"""
GONE = (PacelineError, AnswerError, *TROUBLE)


class Run:
    """What a plan becomes."""

    def __init__(self, plan: Plan, stage: Stage, report: Reporter) -> None:
        self.plan, self.stage, self.report = plan, stage, report
        self.record = Record(history=History(events=[]))
        self.producers = Producers(stage, plan.seed)
        self.stopped: dict[int, float] = {}
        self.late = self.record.history.late

    async def play(self) -> Record:
        stage, record = self.stage, self.record
        site = Site(PostgresServer(stage.url), stage.url, stage.say)
        if isinstance(missing := await self._recovery(time.time()), str):
            raise TimeoutError(f"before anything was broken: {missing}")
        await self._count("before")
        async with asyncio.TaskGroup() as group:
            lookers = [
                group.create_task(watch_groups(stage, record.seen)),
                group.create_task(watch_pods(stage, record.ends)),
                group.create_task(write_late(site, self.late)),
            ]
            load = group.create_task(self.producers.run())
            await self._suffer()
            self.producers.over.set()
            await load
            await Cron(stage.database, SHARED).delete(EACH_MINUTE)  # nothing may come while the record is read
            await self._until_finished(site)
            await settled(stage)
            record.standing, record.stuck = await standings(stage), await stuck(stage)
            for each in lookers:
                each.cancel()
        await self._count("after")
        site.close()
        await self._read()
        return record

    async def _count(self, when: str) -> None:
        """What a claim costs; where that cannot be had the checker misses it."""
        for _ in range(COUNTS):
            try:
                async with self.stage.databases.connected() as connection:
                    self.record.costs += await claim_costs(connection, when)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                self.stage.say(f"what a claim costs {when} the faults could not be counted: {error!r}")
            else:
                return

    async def _suffer(self) -> None:
        with self.report.task("faults", len(self.plan.rounds)) as shown:
            for each in self.plan.rounds:
                await asyncio.sleep(each.quiet)
                await self._round(each)
                shown.advance(each.fault)

    async def _round(self, one: Round) -> None:
        draw = one.stream(self.plan.seed)
        tasks = [asyncio.create_task(self._inflict(one.number, one.fault, draw))]
        if one.second:
            await asyncio.sleep(one.later)
            tasks.append(asyncio.create_task(self._inflict(one.number, one.second, draw)))
        done = await asyncio.gather(*tasks)
        recovered = await self._recovery(max(each.over for each in done))
        for each in done:
            if isinstance(recovered, str):
                each.missing = recovered
            else:
                each.recovered = recovered
            if ABOUT[each.fault].outage:
                self.record.history.outages.append((each.began, time.time()))
            self.stage.say(_line(each))
            if each.recovered and not each.skipped and each.fault in AFTERWARDS:
                await AFTERWARDS[each.fault](self._scene(each, draw))

    def _scene(self, made: Injected, draw: random.Random) -> Scene:
        """What it hits is written into the record as it is done."""
        return Scene(self.stage, self.producers, draw, self.stopped, hit=made.hit, deadly=made.deadly)

    async def _inflict(self, number: int, fault: Fault, draw: random.Random) -> Injected:
        made = Injected(fault=fault, round=number, began=time.time())
        self.record.injected.append(made)
        scene = self._scene(made, draw)
        self.stage.say(f"{fault}: {ABOUT[fault].how}")
        try:
            await BLOWS[fault](scene)
        except NotHere as error:
            made.skipped = str(error)
        except (NotAsItMust, AssertionError) as error:
            made.faulty = str(error)
        except Exception as error:  # the run goes on, and the table says so
            made.faulty = f"it could not be done: {error!r}"
            self.stage.say(traceback.format_exc())
        made.over = time.time()
        return made

    async def _recovery(self, over: float) -> float | str:
        """When jobs of all pools are done again, and everybody is back; or what is missing after too long a time."""
        end = over + BOUND
        jobs: list[int] = []
        missing = "nothing can be enqueued"
        while time.time() < end:
            try:
                if not jobs:
                    jobs = [
                        await self.producers.put(probe(self.producers.next_number(), pool))
                        for pool in (SHARED, LED, FIXED)
                    ]
                missing = await self._missing(jobs)
            except (*GONE, TimeoutError) as error:
                missing = repr(error)
            if not missing:
                return time.time()
            await asyncio.sleep(0.1)
        return missing

    async def _missing(self, jobs: list[int]) -> str:
        """What keeps us from saying that all works; empty if nothing does."""
        stage = self.stage
        if not await stage.database.value(DONE, jobs):
            return f"jobs {jobs} are not done"
        ready = [f"http://127.0.0.1:{stage.ports[seat.name]}/readyz" for seat in stage.operators]
        ready += [f"{stage.gateway_url(seat)}/health/ready" for seat in stage.gateways]
        for url in ready:
            async with stage.web.get(url, timeout=aiohttp.ClientTimeout(5)) as answer:
                if answer.status != 200:
                    return f"{url} answers {answer.status}: {await answer.text()}"
        if (acting := sum([await stage.acts(seat) for seat in stage.operators])) != 1:
            return f"{acting} operators act"
        for name in (SHARED, LED, FIXED):
            if (found := await stage.condition("QueueReachable", name)).get("status") != "True":
                return f"{name} does not reach its queue: {found}"
        return ""

    async def _until_finished(self, site: Site) -> None:
        """No job is left, or nothing moves any more: then the checker says what is left."""
        last, since = None, time.monotonic()
        while True:
            (row,) = await site.rows(LEFT)
            if not row["jobs"]:
                return
            if row["last"] != last:
                last, since = row["last"], time.monotonic()
            if time.monotonic() - since > STANDSTILL:
                self.stage.say(f"{row['jobs']} jobs are left, and nothing moves any more")
                return
            await asyncio.sleep(0.2)

    async def _read(self) -> None:
        record, producers = self.record, self.producers
        async with self.stage.databases.connected() as connection:
            history = await audit.read(connection)
            record.versions["postgres"] = await connection.fetchval("SHOW server_version")
        history.late, history.outages = self.late, record.history.outages
        history.expected, history.told = producers.expected, producers.told
        history.marks, history.stopped = read_marks(self.stage.scratch), self.stopped
        record.history, record.answers, record.asked = history, producers.answers, producers.asked
        record.keyed = producers.keyed
        record.versions["control_plane"] = KUBERNETES_VERSION
        record.ends += [end for seat in self.stage.seats for end in seat.ends]


async def run(plan: Plan, scratch: Path, report: Reporter, *, limited: bool) -> Record:
    """From nothing to the record; nothing is left of it but what is in the scratch folder."""
    began = time.monotonic()

    def say(text: str) -> None:
        report.line(f"{time.monotonic() - began:7.1f} s  {text}")

    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(staged(scratch, say, limited=limited))
        return await Run(plan, stage, report).play()


def _line(one: Injected) -> str:
    if one.skipped:
        return f"{one.fault}: not possible here: {one.skipped}"
    back = (
        f"did not come back: {one.missing}"
        if one.seconds is None
        else f"all works again after {max(one.seconds, 0):.1f} s"
    )
    return f"{one.fault}: {back}{f'; {one.faulty}' if one.faulty else ''}"
