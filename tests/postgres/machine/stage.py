"""Real connections on which calls overlap: each is begun, perhaps waits for a lock, is answered, and ends.

The transaction of a call stays open until it is committed or rolled back; others go on meanwhile, or wait. Who waits
for whom is the server's own word. A call is judged twice: when it is answered, by what is committed then, and when it
commits, for what nobody may have taken away from it meanwhile. The model changes with the commit.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import asyncpg

from postgres.machine.calls import NOT_DUE, Call, Tick
from postgres.machine.model import Play
from postgres.machine.seen import Seen, agree, look
from postgres.machine.world import Job, Leader, Runner, Span, Turn, Violation, World, need

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

SESSIONS: Final = 3
WAIT_SECONDS: Final = 30.0
"""Patience with a call that neither answers nor waits for a lock."""
EMPTY: Final = """
DELETE FROM paceline.knock; DELETE FROM paceline.mark; DELETE FROM paceline.job; DELETE FROM paceline.history;
DELETE FROM paceline.attempt; DELETE FROM paceline.dead; DELETE FROM paceline.flow; DELETE FROM paceline.waiter;
DELETE FROM paceline.band; DELETE FROM paceline.lane; DELETE FROM paceline.key; DELETE FROM paceline.kind;
DELETE FROM paceline.incarnation; DELETE FROM paceline.runner_group; DELETE FROM paceline.pool;
SELECT setval(c.oid, 1, false) FROM pg_class c WHERE c.relkind = 'S' AND c.relnamespace = 'paceline'::regnamespace;
UPDATE paceline.tick SET next_at = 'infinity', slow_at = 'infinity',
    reviewed = 0, knock_low = 0, release_low = '-infinity';
SELECT paceline.put_group('test', 'ci', 'shop', 'shop');
SELECT paceline.put_group('test', 'ci', 'lead', 'lead', p_leader => true)"""
AGE: Final = """
WITH jobs AS (
    UPDATE paceline.job SET run_at = run_at - $1::interval, expires_at = expires_at - $1::interval,
                            ready_at = ready_at - $1::interval
), boots AS (UPDATE paceline.incarnation SET registered_at = registered_at - $1::interval
), pools AS (UPDATE paceline.pool SET refilled = refilled - $1::interval
), kinds AS (UPDATE paceline.kind SET refilled = refilled - $1::interval
), keys AS (UPDATE paceline.key SET refilled = refilled - $1::interval)
UPDATE paceline.tick SET release_low = '-infinity'"""
BLOCKED: Final = "SELECT p, pg_blocking_pids(p) FROM unnest($1::integer[]) p"


@dataclass
class Flight:
    """A call under way."""

    call: Call
    connection: "Connection"
    task: "asyncio.Task[Any]"
    begun: int
    clock: float
    alone: bool
    hold: int
    """How many calls of others it stays open for; below zero it is rolled back in the end."""
    patience: int
    waited: bool = False
    before: World | None = None
    after: World | None = None

    @property
    def answered(self) -> bool:
        return self.after is not None

    def __str__(self) -> str:
        return str(self.call)


class Stage:
    """A database of its own, sessions that calls run in, and one that only watches."""

    def __init__(self, watcher: "Connection", sessions: "list[Connection]") -> None:
        self._watcher = watcher
        self._free = list(sessions)
        self._sessions = sessions
        self.flights: list[Flight] = []
        self.events = self.newest = 0
        self.world = World({})
        self.seen = Seen({}, {}, Leader(), ticked=False, clock=0.0)
        self.claims: list[tuple[int, int]] = []
        """Every claim that was committed: the job and its fence."""
        self._ceilings: dict[tuple[str, str], int] = {}
        self.newest = 0
        """The highest fence that was ever given."""
        self.trouble: list[str] = []
        for connection in sessions:
            connection.add_log_listener(lambda _, message: self._heard(message))

    @classmethod
    async def open(cls, url: str) -> "Stage":
        settings = {"deadlock_timeout": "100ms"}
        opened = [await asyncpg.connect(url, server_settings=settings) for _ in range(SESSIONS + 1)]
        return cls(opened[0], opened[1:])

    async def close(self) -> None:
        for connection in (self._watcher, *self._sessions):
            await connection.close()

    def _heard(self, message: Any) -> None:
        if message.severity_en == "WARNING":  # what housekeeping inside a step would have raised
            self.trouble.append(message.message)

    async def clear(self, runners: dict[str, Runner]) -> None:
        """An empty queue with two groups; the dice of each session fall as they did before."""
        await self._watcher.execute(EMPTY)
        for connection in self._sessions:
            await connection.execute("SELECT setseed(0.5)")
        self.trouble.clear()
        self.claims.clear()
        self._ceilings.clear()
        self.events = self.newest = 0
        self.world = World(runners, {("leader",): Leader()})
        self.seen = await look(self._watcher)

    async def pass_time(self, seconds: float) -> None:
        """Everything that is stored is so much older; whoever is under way ends first."""
        while self.flights:
            oldest = next(flight for flight in self.flights if flight.answered)
            await self.end(oldest, commit=oldest.hold >= 0)
        await self._watcher.execute(AGE.replace("$1", f"'{seconds} seconds'"))
        self.world = self.world.older(seconds)
        await self.check()

    async def make(self, call: Call, *, hold: int) -> None:
        """Begin a call. It ends when it is answered, or stays open while others go on."""
        for flight in self.flights:
            flight.patience -= 1
        if not self._free:
            oldest = next(flight for flight in self.flights if flight.answered)
            await self.end(oldest, commit=oldest.hold >= 0)
        connection = self._free.pop(0)
        self.events += 1
        task = asyncio.ensure_future(_fly(connection, call))
        alone = not self.flights
        self.flights.append(Flight(call, connection, task, self.events, self.seen.clock, alone, hold, abs(hold)))
        await self._settle()
        await self.check()

    async def end(self, flight: Flight, *, commit: bool) -> None:
        """Commit or roll back an answered call; whoever waited for it goes on."""
        assert flight.before is not None
        assert flight.after is not None
        if commit:
            flight.call.binds(self.world, flight.task.result())
            for name, (was, became) in flight.after.changes(flight.before).items():
                need(self.world.facts.get(name) == was, f"{flight} and another transaction both changed {name}")
                self.world.facts[name] = became
                if (
                    isinstance(became, Job)
                    and became.place == "running"
                    and became.holder != getattr(was, "holder", None)
                ):
                    self.claims.append((became.id, became.fence))
            self._watch_keys()
        self.flights.remove(flight)
        await flight.connection.execute("COMMIT" if commit else "ROLLBACK")
        self._free.append(flight.connection)
        await self._settle()

    def _watch_keys(self) -> None:
        for pool, name in self.world.keys:
            key, used = self.world.key(pool, name), len(self.world.users(pool, name))
            if key and key.limit is not None:
                most = max(key.limit, self._ceilings.get((pool, name), 0))
                need(used <= most, f"key {name} of {pool} has {used} permits of {key.limit} in use")
                self._ceilings[pool, name] = used  # a limit that is lowered takes no permit away

    async def finish(self, flight: Flight, *, commit: bool) -> None:
        await self.end(flight, commit=commit)
        await self.check()

    async def abandon(self) -> None:
        """Roll back whatever is open, and judge nothing any more."""
        while self.flights:
            await asyncio.wait([flight.task for flight in self.flights], return_when="FIRST_COMPLETED")
            for flight in [each for each in self.flights if each.task.done()]:
                flight.task.exception()
                await flight.connection.execute("ROLLBACK")
                self.flights.remove(flight)
                self._free.append(flight.connection)

    async def _settle(self) -> None:
        """Return when every call is answered or waits for one that is."""
        while True:
            await self._standstill()
            for flight in self.flights:
                if flight.task.done() and not flight.answered:
                    await self._judge(flight)
            over = [flight for flight in self.flights if flight.answered and flight.patience <= 0]
            if not over:
                return
            await self.end(over[0], commit=over[0].hold >= 0)

    async def _standstill(self) -> None:
        patience = asyncio.get_running_loop().time() + WAIT_SECONDS
        while running := [flight for flight in self.flights if not flight.task.done()]:
            if len(self.flights) == 1:
                await asyncio.wait([running[0].task], timeout=WAIT_SECONDS)
            else:
                await asyncio.wait([flight.task for flight in running], timeout=0.002, return_when="FIRST_COMPLETED")
                if await self._all_wait([flight for flight in running if not flight.task.done()]):
                    return
            need(asyncio.get_running_loop().time() < patience, f"no answer from {', '.join(map(str, running))}")

    async def _all_wait(self, running: list[Flight]) -> bool:
        """Whether each of them waits, in the end, for a transaction whose call is answered: not in a circle."""
        pids = {flight.connection.get_server_pid(): flight for flight in running}
        waits = {pid: set(by) for pid, by in await self._watcher.fetch(BLOCKED, list(pids))}
        held = {flight.connection.get_server_pid() for flight in self.flights} - set(pids)
        for _ in pids:
            held |= {pid for pid, by in waits.items() if by & held}
        for pid, flight in pids.items():
            flight.waited |= bool(waits[pid])
        return set(pids) <= held and not any(flight.task.done() for flight in running)

    async def _judge(self, flight: Flight) -> None:
        """What the call answered and what its transaction sees must follow from what is committed."""
        try:
            answer = flight.task.result()
        except asyncpg.PostgresError as error:
            others = [str(other) for other in self.flights if other is not flight]
            raise Violation(f"{flight} failed beside {others}: {error}: {getattr(error, 'context', '')}") from error
        need(not self.trouble, f"{flight}: {self.trouble}")
        need(not (flight.waited and isinstance(flight.call, Tick)), "the housekeeping waited for somebody")
        seen = await look(flight.connection)
        await flight.connection.execute(NOT_DUE)
        self.events += 1
        now = Span(flight.clock, seen.clock)
        alone = flight.alone and not flight.waited
        play = Play(self.world.copy(), seen, now, Turn(flight.begun, self.events), alone, flight.waited)
        flight.before = self.world.copy()
        flight.call.play(play, answer)
        flight.after = play.settle()
        agree(flight.after, seen)
        self.newest = max([self.newest, *(job.fence for job in flight.after.jobs)])

    async def check(self) -> None:
        """What is committed is what the model has; a transaction that is open or was rolled back shows nothing."""
        self.seen = await look(self._watcher)
        agree(self.world, self.seen)
        for job in self.world.jobs:
            if job.place == "running":
                assert job.holder is not None
                boot = self.world.boot(job.holder)
                need(boot.state != "gone", f"job {job.id} is held by registration {boot.id}, which is gone")
                need(job.pool == self.world.runners[boot.runner].pool, f"job {job.id} is held from another pool")


async def _fly(connection: "Connection", call: Call) -> Any:
    await connection.execute("BEGIN")
    return await call.send(connection)
