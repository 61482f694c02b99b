"""A registration at a gateway: what came for it, what it has, and what it says.

All of it lives in the keeper's loop, and so does the connection: a handler that holds the main loop delays what is said
of jobs, but pings are answered, heartbeats are sent, and nobody takes the runner for lost. The main loop asks for
everything by `aside`.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import JsonValue

from paceline.claims import PROGRESS_LIMIT, Beat, Failed, Finished, IncarnationId, Run, Step
from paceline.errors import GatewayError
from paceline.job import Claimed, Fence, JobId, encode
from paceline_runner.gateway import frames
from paceline_runner.gateway.api import Api, NotAuthorizedError
from paceline_runner.gateway.frames import Report

if TYPE_CHECKING:
    from paceline_runner.gateway.wire import Wire

PATIENCE: Final = 10.0
"""Seconds that a report waits for a connection before whoever made it is told that there is none."""
FRESH: Final = 10.0
"""Seconds after which a run that nobody began goes back. It is confirmed only when it begins, by the next heartbeat, at
most 15 s later; after 30 s the gateway gives it to somebody else."""
T = TypeVar("T")


async def aside(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Do something in the keeper's loop."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


class GatewaySeat:
    """The main loop calls what is public and async; the wire that is attached, the rest."""

    def __init__(
        self, welcome: dict[str, Any], hello: dict[str, Any], api: Api, loop: asyncio.AbstractEventLoop
    ) -> None:
        """What `register` answered; `loop` is the keeper's."""
        self.id = IncarnationId(welcome["incarnation"])
        self.pool_name: str = welcome["pool"]
        self.draining: bool = welcome["state"] == "draining"
        self.hello = hello
        self.polling = False
        """No WebSocket comes through."""
        self.returns = False
        """It was connected before."""
        self.credit = 0
        """So many runs may still come."""
        self._api, self._loop = api, loop
        self._wire: Wire | None = None
        self._attached = asyncio.Event()
        self._wake: Callable[[], None] = lambda: None
        self._came: deque[tuple[float, Claimed]] = deque()
        self._letting_go: asyncio.TimerHandle | None = None
        self._arrivals = 0
        self._runs: dict[JobId, Fence] = {}
        """Those that the main loop has, and those of which nobody has heard yet that they are over."""
        self._cancelled: set[JobId] = set()
        self._answered: dict[tuple[str, int, int], bool] = {}
        """Of reports that are said again because others of their step were not heard."""

    # for the main loop

    async def step(self, want: int, done: Sequence[Finished] = (), *, listen: timedelta | None = None) -> Step:  # noqa: ARG002
        """Say what is done, and take what has come. `listen` is not needed: runs are sent to us."""
        step, arrivals = await aside(self._loop, self._step(want, done))
        if arrivals != self._arrivals:  # while the answer was on its way to this thread: it must not be slept through
            self._wake()
        return step

    async def fail(self, failed: Sequence[Failed], cause: str = "Failed") -> frozenset[JobId]:
        """Say which attempts failed; returns the jobs that were not ours any more."""
        return await aside(self._loop, self._say([frames.failed(each, cause) for each in failed]))

    async def hand_back(self, jobs: Sequence[Claimed], cause: str = "HandedBack") -> frozenset[JobId]:
        """Give unfinished jobs back, nothing charged."""
        return await self.return_claims({job.id: job.fence for job in jobs}, cause)

    async def return_claims(self, claims: Mapping[JobId, Fence], cause: str) -> frozenset[JobId]:  # noqa: ARG002
        """The same where nothing but id and fence is known. The gateway says the cause."""
        return await aside(self._loop, self._give_back([Run(*each) for each in claims.items()]))

    async def held(self) -> dict[JobId, Fence]:
        """Nothing: a run that did not reach us is confirmed by nobody, and goes back by itself."""
        return {}

    async def extend(self, job: Claimed, by: timedelta) -> bool:
        """Let an attempt run until `by` from now; whether it is still ours."""
        report = frames.about("extend", frames.run_of(job), seconds=by.total_seconds())
        return not await aside(self._loop, self._say([report]))

    async def progress(self, job: Claimed, value: JsonValue) -> bool:
        """Tell how far an attempt is; whether it is still ours."""
        report = Report("progress", frames.run_of(job), f',"value":{encode(value, "progress", limit=PROGRESS_LIMIT)}')
        return not await aside(self._loop, self._say([report]))

    async def heartbeat(self) -> Beat:
        """Ask how the registration stands."""
        return await aside(self._loop, self.beat_by_request())

    async def drain(self) -> int:
        """Claim nothing any more; returns how many jobs are still held."""
        return await aside(self._loop, self._end("drain"))

    async def deregister(self) -> int:
        """Leave; what is still held goes back without a charge, and its number is returned."""
        return await aside(self._loop, self._end("deregister"))

    # for the wire

    def attach(self, wire: "Wire", wake: Callable[[], None]) -> None:
        """From now on this is the connection. It has been asked for nothing yet."""
        self._wire, self._wake, self.credit, self.returns = wire, wake, 0, True
        self._attached.set()

    def detach(self, wire: "Wire") -> None:
        """It is gone."""
        if self._wire is wire:
            self._wire = None
            self._attached.clear()

    def resumed(self) -> frozenset[Run]:
        """What a new socket names as ours. The gateway gives the rest to others: what has not begun is forgotten."""
        self._came.clear()
        return self.runs

    def came(self, told: dict[str, Any]) -> None:
        """A run was given to us."""
        self.credit = max(0, self.credit - 1)
        self._came.append((time.monotonic(), frames.claimed(told)))
        self._arrivals += 1
        if self._letting_go is None:
            self._letting_go = self._loop.call_later(FRESH, self._let_go)
        self._wake()

    def lapsed(self) -> None:
        """A run was not confirmed in time: no more come until we ask again, which a main loop that is held cannot."""
        self.credit = 0
        self._wake()

    def cancel(self, jobs: frozenset[JobId]) -> None:
        """Somebody wants these stopped. Each step repeats it until they are over: one may not have begun yet."""
        new = (jobs & (self._runs.keys() | {job.id for _, job in self._came})) - self._cancelled
        if new:
            self._cancelled |= new
            self._wake()

    @property
    def runs(self) -> frozenset[Run]:
        """What a heartbeat names: what has begun, or is about to."""
        return frozenset(Run(*each) for each in self._runs.items())

    def beaten(self, told: dict[str, Any], named: frozenset[Run]) -> Beat:
        """The answer to a heartbeat."""
        beat = frames.beat(told, named)
        for run in beat.refused:
            self._over(run)
        self.cancel(beat.cancelled)
        self.draining = self.draining or beat.verdict == "draining"
        return beat

    async def beat_by_request(self) -> Beat:
        """A heartbeat without a socket."""
        named = self.runs
        try:
            told = await self._api.call("POST", "/runner/heartbeat", self._about_us(runs=sorted(named)))
        except NotAuthorizedError:
            return Beat("fenced", cause="Revoked")
        return self.beaten(told, named)

    # in the keeper's loop

    async def _step(self, want: int, done: Sequence[Finished]) -> tuple[Step, int]:
        refused: frozenset[JobId] = frozenset()
        if done:
            refused = await self._say([frames.completed(each) for each in done], want)
        jobs = self._take(want)
        if want:
            self._ask(want - len(jobs))
        else:
            self._ask_for_none()
        verdict: Any = "draining" if self.draining else "ok"
        step = Step(verdict, jobs, refused, frozenset(self._cancelled), listening=True)
        return step, self._arrivals

    def _take(self, want: int) -> tuple[Claimed, ...]:
        """What has come. Without a wish for any, we leave: what came too late for that goes back."""
        late = time.monotonic() - FRESH
        jobs: list[Claimed] = []
        while self._came and (len(jobs) < want or not want):
            at, job = self._came.popleft()
            if at < late:
                continue
            if want:
                jobs.append(job)
                self._runs[job.id] = job.fence
            else:
                self._return(job)
        return tuple(jobs)

    def _let_go(self) -> None:
        """Let others have what nobody began: the main loop is held, and wants no more until it turns again."""
        late = time.monotonic() - FRESH
        while self._came and self._came[0][0] <= late:
            self._ask_for_none()
            self._return(self._came.popleft()[1])
        self._letting_go = None
        if self._came:
            self._letting_go = self._loop.call_later(self._came[0][0] - late, self._let_go)

    def _return(self, job: Claimed) -> None:
        """Nothing charged."""
        self._cancelled.discard(job.id)
        if self._wire is not None:
            self._wire.post(frames.about("hand_back", frames.run_of(job))).add_done_callback(_unheard)

    def _ask(self, want: int) -> None:
        """Let so many come. Only when all that were asked for have come: what is under way is not known here.

        Then there are never more than slots, and a slot that became free in between waits for one round trip.
        """
        if want > 0 and not self.credit and not self._came and not self.draining and self._wire is not None:
            self.credit = want
            self._wire.ready(want)

    def _ask_for_none(self) -> None:
        """What was asked for and has not come is not wanted any more."""
        if self.credit and self._wire is not None:
            self.credit = 0
            self._wire.ready(0)

    async def _give_back(self, runs: Sequence[Run]) -> frozenset[JobId]:
        """Before that nothing is wanted any more: they would come straight back to us."""
        self._ask_for_none()
        return await self._say([frames.about("hand_back", run) for run in runs])

    async def _say(self, reports: Sequence[Report], want: int = 0) -> frozenset[JobId]:
        """All of them; returns the jobs that were not ours any more. What was answered is not said again."""
        wire = await self._connected()
        unsaid = [report for report in reports if report.key not in self._answered]
        answers = [wire.post(report) for report in unsaid]
        if wire.ordered:
            self._ask(want)  # right behind them: their slots are free, whatever the answers are
        if answers:
            await asyncio.wait(answers)
        broken: BaseException | None = None
        for report, answer in zip(unsaid, answers, strict=True):
            if error := answer.exception():
                broken = error
            else:
                self._answered[report.key] = answer.result()
        if broken is not None:
            raise broken
        return frozenset(report.run.id for report in reports if not self._counted(report))

    def _counted(self, report: Report) -> bool:
        """Whether it counted; if not, or if it was the last word, the run is over."""
        counts = self._answered.pop(report.key)
        if not counts or report.about in frames.SETTLES:
            self._over(report.run)
        return counts

    def _over(self, run: Run) -> None:
        if self._runs.get(run.id) == run.fence:
            del self._runs[run.id]
            self._cancelled.discard(run.id)

    async def _connected(self) -> "Wire":
        try:
            async with asyncio.timeout(PATIENCE):
                while self._wire is None:
                    await self._attached.wait()
        except TimeoutError:
            raise GatewayError(f"{self._api.place} is away") from None
        return self._wire

    async def _end(self, how: str) -> int:
        return int((await self._api.call("POST", f"/runner/{how}", self._about_us()))["runs"])

    def _about_us(self, **more: object) -> str:
        return frames.as_json({"incarnation": self.id, **more})


def _unheard(answer: "asyncio.Future[bool]") -> None:
    """Whatever it is: a run that nobody confirms goes back by itself, only later."""
    if not answer.cancelled():
        answer.exception()
