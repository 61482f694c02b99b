"""Who waits for work at this gateway, and who gets what comes: the least loaded first, chance decides among equals.

A claim for all who wait in a pool is one call, however many they are. It is made when somebody begins to wait, when
the database tells that there is work, and now and then for what nobody told. Once a second one more call asks for all
who are connected whether one of them is to be told something: a cancel, a drain, an end.
"""

import asyncio
import contextlib
import heapq
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from paceline.claims import IncarnationId
from paceline.dialled import Connection, Dialling, News, Offer, Told
from paceline.errors import PacelineError
from paceline.job import Claimed
from paceline.line import Lines
from paceline_gateway.metrics import Metrics
from paceline_gateway.runners.ears import Ears

LISTEN: Final = timedelta(seconds=60)
"""So long after a claim producers go on to tell of work."""
HEARING_SECONDS: Final = 5.0
DEAF_SECONDS: Final = 1.0
NEWS_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.1
"""After a claim that brought nothing, so long for whoever else begins to wait: a thousand polls of 30 s would be 33
claims a second, all in vain."""
FEW: Final = 16
"""So many are asked for first: usually there are more who wait than jobs."""
MANY: Final = 500
log = logging.getLogger("paceline.gateway")


@dataclass(eq=False, slots=True)
class Guest:
    """A runner that is connected here, by a poll or by a socket."""

    by: Connection
    pool: int
    slots: int
    give: Callable[[tuple[Claimed, ...]], None]
    """Jobs have been claimed for it."""
    tell: Callable[[News], None]
    """Something has happened to it."""
    send_away: Callable[[], None]
    """This gateway is about to close."""
    want: int = 0
    verdict: Told = "ok"
    """As the last claim for it found."""
    tried: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set when somebody has looked for work for it."""
    settled: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Not set while a claim for it is under way: it cannot go then without what that brings."""

    def __post_init__(self) -> None:
        """None is under way."""
        self.settled.set()

    @property
    def load(self) -> float:
        """The part of its slots that is busy."""
        return 1 - min(self.want, self.slots) / self.slots


@dataclass(eq=False, slots=True)
class Room:
    """The guests of a pool."""

    guests: dict[IncarnationId, Guest] = field(default_factory=dict)
    untried: list[Guest] = field(default_factory=list)
    """Those that nobody has looked for work for yet."""
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    quiet_until: float = 0
    serving: asyncio.Task[None] | None = None


class Hub:
    """The guests of one gateway."""

    def __init__(self, dialling: Dialling, lines: Lines, metrics: Metrics, leaving: asyncio.Event) -> None:
        """`lines` are opened past PgBouncer; `leaving` is set when this gateway closes."""
        self._dialling, self._metrics, self._leaving = dialling, metrics, leaving
        self._ears = Ears(lines, self.ring)
        self._rooms: dict[int, Room] = {}
        self._hasten = asyncio.Event()
        self._one_less = asyncio.Event()

    def enter(self, guest: Guest) -> None:
        """It is here; the guest of the same registration that was here before is not any more."""
        if self._leaving.is_set():
            guest.send_away()
            return
        room = self._rooms.setdefault(guest.pool, Room())
        if before := room.guests.get(guest.by.incarnation):
            before.want = 0
            before.tell(News(guest.by.incarnation, "moved"))
        room.guests[guest.by.incarnation] = guest
        room.untried.append(guest)
        if room.serving is None:
            room.serving = asyncio.create_task(self._serve(guest.pool, room))
        self.knock(guest.pool)

    async def leave(self, guest: Guest) -> None:
        """It has gone; a claim that is under way for it is over."""
        guest.want = 0
        room = self._rooms.get(guest.pool)
        if room and room.guests.get(guest.by.incarnation) is guest:
            del room.guests[guest.by.incarnation]
            self._one_less.set()
        await guest.settled.wait()

    async def emptied(self) -> None:
        """Nobody is here any more: soon after `leaving` is set, unless somebody does not read."""
        while any(room.guests for room in self._rooms.values()):
            self._one_less.clear()
            await self._one_less.wait()

    def ring(self, pool: int) -> None:
        """There may be work."""
        if room := self._rooms.get(pool):
            room.bell.set()

    def knock(self, pool: int) -> None:
        """There is somebody who wants some."""
        if room := self._rooms.get(pool):
            loop = asyncio.get_running_loop()
            if (left := room.quiet_until - loop.time()) > 0:
                loop.call_later(left, room.bell.set)
            else:
                room.bell.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen and tell while the block runs."""
        tasks = [asyncio.create_task(each) for each in (self._ears.run(), self._spread_news(), self._send_away())]
        try:
            yield
        finally:
            ending = [*tasks, *(room.serving for room in self._rooms.values() if room.serving)]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    # claims

    async def _serve(self, pool: int, room: Room) -> None:
        """Claim for the guests of a pool, for as long as there are any."""
        while room.guests:
            hearing = self._ears.hear(pool)
            room.bell.clear()
            untried, room.untried = room.untried, []
            try:
                await self._claim(pool, room, hearing=hearing)
            except Exception as error:  # whatever it is, the pool is not to be left alone
                log.warning("cannot claim for runners that dialled: %s", error, exc_info=_fault(error))
                self._metrics.claim_failed("database")
                await asyncio.sleep(DEAF_SECONDS)
                room.bell.set()
            finally:
                for guest in untried:
                    guest.tried.set()
            patience = HEARING_SECONDS if hearing else DEAF_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience * random.uniform(0.8, 1.0)):  # noqa: S311 -- so that gateways part
                    await room.bell.wait()
        del self._rooms[pool]

    async def _claim(self, pool: int, room: Room, *, hearing: bool) -> None:
        """Once for all who want something."""
        found, listening = 0, True
        for some in portions(list(room.guests.values())):
            asked = {guest.by.incarnation: guest for guest in some if guest.want > 0}  # of those who are still there
            if not asked:
                continue
            brought, more, heard = await self._ask(pool, asked, hearing=hearing)
            found, listening = found + brought, listening and heard
            if not more:
                break
        if not found:
            room.quiet_until = asyncio.get_running_loop().time() + PAUSE_SECONDS
        if hearing and not listening:  # nobody told us of what came while we looked
            room.bell.set()

    async def _ask(self, pool: int, asked: dict[IncarnationId, Guest], *, hearing: bool) -> tuple[int, bool, bool]:
        """How many jobs it brought, whether there is more for others, and whether producers tell us of what comes."""
        for guest in asked.values():
            guest.settled.clear()
        try:
            with self._metrics.writing("claim"):
                wants = {guest.by: guest.want for guest in asked.values()}
                told = await self._dialling.offer(pool, wants, listen=LISTEN if hearing else None)
            found = sum(self._deliver(asked[offer.incarnation], offer) for offer in told.offers)
            return found, told.more, told.listening
        finally:
            for guest in asked.values():
                guest.settled.set()

    def _deliver(self, guest: Guest, offer: Offer) -> int:
        """Hand over what was claimed for it; how many."""
        guest.verdict = offer.verdict
        if offer.jobs:
            guest.want = max(0, guest.want - len(offer.jobs))
            self._metrics.handed_out(job.waited for job in offer.jobs)
            guest.give(offer.jobs)
        if offer.verdict in ("draining", "moved", "lapsed") or offer.cancelled:
            guest.tell(News(offer.incarnation, offer.verdict, offer.cancelled))
        elif offer.verdict == "fenced":
            self._hasten.set()  # the news know why
        return len(offer.jobs)

    # what others say

    async def _spread_news(self) -> None:
        """Once a second, and when a claim has found an end."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(NEWS_SECONDS):
                    await self._hasten.wait()
            self._hasten.clear()
            guests = {guest.by: guest for room in self._rooms.values() for guest in room.guests.values()}
            if not guests:
                continue
            try:
                told = await self._dialling.news(list(guests))
            except Exception as error:
                log.warning("cannot ask for news: %s", error, exc_info=_fault(error))
                await asyncio.sleep(NEWS_SECONDS)
                continue
            by_number = {guest.by.incarnation: guest for guest in guests.values()}
            for news in told:
                by_number[news.incarnation].tell(news)

    async def _send_away(self) -> None:
        """When this gateway is about to close."""
        await self._leaving.wait()
        for guest in [guest for room in self._rooms.values() for guest in room.guests.values()]:
            guest.send_away()


def _fault(error: Exception) -> bool:
    """Whether it is one of ours, to be told with its traceback."""
    return not isinstance(error, PacelineError)


def portions(guests: Sequence[Guest]) -> Iterator[Sequence[Guest]]:
    """A few of those who want something first, then many at a time; the others are looked at only if it comes to them.

    A thousand may wait, and there are hundreds of claims a second.
    """
    few = _first(guests)
    if few:
        yield few
    chosen = set(few)
    others = sorted((guest for guest in guests if guest.want > 0 and guest not in chosen), key=_turn)
    for start in range(0, len(others), MANY):
        yield others[start : start + MANY]


def _first(guests: Sequence[Guest]) -> Sequence[Guest]:
    """Those who have nothing to do; mostly all who wait are such."""
    few = random.sample(guests, min(FEW, len(guests)))
    if len(few) == FEW and all(map(_is_free, few)):
        return few
    free = [guest for guest in guests if _is_free(guest)]
    if len(free) >= FEW:
        return random.sample(free, FEW)
    return heapq.nsmallest(FEW, (guest for guest in guests if guest.want > 0), _turn)


def _is_free(guest: Guest) -> bool:
    return guest.want >= guest.slots


def _turn(guest: Guest) -> tuple[float, float]:
    """The least loaded first, chance among equals."""
    return guest.load, random.random()  # noqa: S311 -- no secret
