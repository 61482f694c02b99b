"""Where runners register and report: each report counts only with the fence of the claim, whichever way it came."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from paceline.claims import PROGRESS_LIMIT, IncarnationId
from paceline.dialled import Connection, Dialled, Dialling, Heartbeat, News, Place
from paceline.errors import PacelineError
from paceline.job import LONGEST, Fence, JobId, encode, need
from paceline.retry import Exponential, Retry
from paceline_gateway.metrics import Metrics
from paceline_gateway.runners.runs import About, Complete, Extend, Fail, HandBack, Hello, Leave, Log, Progress
from paceline_gateway.together import Together
from paceline_gateway.turnstile import Turnstile

GATHER_SECONDS: Final = 0.05
"""So long a heartbeat waits for others: a thousand runners send a hundred a second."""
MOST_PLACES: Final = 10_000


class Desk:
    """Takes registrations, reports and heartbeats."""

    def __init__(self, dialling: Dialling, metrics: Metrics, abreast: int) -> None:
        """By these calls; so many register at a time, and so many report."""
        self._dialling, self._metrics = dialling, metrics
        self._turnstile = Turnstile(abreast)
        self._reporting = asyncio.Semaphore(abreast)
        self._beats: Together[Heartbeat, News] = Together(self._beat_all, gather_seconds=GATHER_SECONDS)
        self._places: dict[tuple[str, int], Place] = {}

    async def register(self, token: str, hello: Hello, *, socket: bool = False) -> Dialled:
        """Become the current registration of the runner that a token is for; with `socket` it is connected already."""
        async with self._turnstile.passing("registrations"):
            with self._metrics.writing("register"):
                return await self._dialling.register(
                    token, kinds=hello.kinds, tags=hello.tags, slots=hello.slots, heartbeat=hello.heartbeat_seconds,
                    hostname=hello.hostname, revision=hello.revision, socket=socket,
                )  # fmt: skip

    async def place(self, token: str, incarnation: int) -> Place:
        """Where a registration works, if it came with this token. It never changes, so it is asked for once."""
        found = self._places.get((token, incarnation))
        if found is None:
            found = await self._dialling.place(token, incarnation)
            if len(self._places) >= MOST_PLACES:
                del self._places[next(iter(self._places))]
            self._places[token, incarnation] = found
        return found

    async def report(self, owner: IncarnationId, job: JobId, about: About) -> bool:
        """Whether it counts. Where many come at once the claims do not stand in line behind them for a connection."""
        async with self._reporting:
            with self._metrics.writing("report"):
                counts = await self._report(owner, job, Fence(about.fence), about)
        if not counts:
            self._metrics.claim_failed("refused")
        return counts

    async def beat(self, beat: Heartbeat) -> News:
        """Keep a registration alive, and confirm its runs."""
        news = await self._beats.do(beat)
        self._metrics.claim_failed("refused", len(news.refused))
        return news

    async def leave(self, owner: IncarnationId, told: Leave) -> int:
        """End a registration as it wants; how many runs it had."""
        if told.cause is not None:
            return await self._dialling.fence(owner, told.cause)
        return await self._dialling.deregister(owner)

    async def _report(self, owner: IncarnationId, job: JobId, fence: Fence, about: About) -> bool:
        dialling = self._dialling
        match about:
            case Complete():
                result = None if about.result is None else encode(about.result, "result")
                return await dialling.complete(owner, job, fence, result, about.output)
            case Fail():
                return await self._fail(owner, job, fence, about)
            case HandBack():
                return await dialling.hand_back(owner, job, fence)
            case Progress():
                text = encode(about.value, "progress", limit=PROGRESS_LIMIT)
                return await dialling.progress(owner, job, fence, text)
            case Extend():
                return await dialling.extend(owner, job, fence, _span(about.seconds, "seconds"))
            case Log():
                return await dialling.log(owner, job, fence, about.text)
        raise AssertionError(about)

    async def _fail(self, owner: IncarnationId, job: JobId, fence: Fence, told: Fail) -> bool:
        wait = None
        if not told.final and told.retry_in_seconds is not None:
            wait = _span(told.retry_in_seconds, "retry_in_seconds")
        elif not told.final:
            tries = await self._dialling.tries(owner, job, fence)
            if tries is None:
                return False
            decision = Exponential().decide(tries + 1, RuntimeError(told.error))
            wait = decision.after if isinstance(decision, Retry) else None
        return await self._dialling.fail(owner, job, fence, told.error, wait, output=told.output, cause=told.cause)

    async def _beat_all(self, beats: Sequence[Heartbeat]) -> Sequence[News | PacelineError]:
        """One for each connection, which may have sent several."""
        runs: dict[Connection, dict[JobId, Fence]] = {}
        for beat in beats:
            runs.setdefault(beat.by, {}).update(beat.runs)
        with self._metrics.writing("heartbeat"):
            told = await self._dialling.beat([Heartbeat(by, held) for by, held in runs.items()])
        return [told[beat.by] for beat in beats]


def _span(seconds: float, name: str) -> timedelta:
    need(seconds <= LONGEST.total_seconds(), f"{name} {seconds:g} is too long (at most {LONGEST.days} days)")
    return timedelta(seconds=seconds)
