"""Runners by requests: register, a long poll for runs, heartbeats, and what became of each run."""

import asyncio
import contextlib
import json
import random
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from paceline.claims import IncarnationId
from paceline.dialled import Connection, News
from paceline.dialled import Heartbeat as Sent
from paceline.job import Claimed, JobId
from paceline_gateway.auth import Dialler
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.runners.hub import Guest
from paceline_gateway.runners.runs import (
    MOST_AT_ONCE,
    About,
    Beat,
    Complete,
    Extend,
    Fail,
    HandBack,
    Heartbeat,
    Hello,
    Leave,
    Log,
    Number,
    Owner,
    Progress,
    Run,
    Welcome,
    held,
    run_text,
)
from paceline_gateway.services import Services, services_of
from paceline_gateway.straight import Straight

LONGEST_POLL: Final = 30
SHORTEST_HOLD: Final = 0.7
"""Of the time that a poll would wait."""
router = APIRouter(prefix="/runner", tags=["runners"], route_class=Straight)
Job = Annotated[Number, Path(description="The run's id.")]


class Me(BaseModel):
    """Whom a token is for."""

    runner: str
    pool: str
    namespace: str = Field(description="Of the group.")
    group: str | None = Field(description="None: there is no RunnerGroup, the pool is its own.")


class Found(BaseModel):
    """What a poll brought."""

    verdict: str = Field(description="ok, draining, paused, standby or fenced")
    cancelled: list[int] = Field(description="Runs of yours that somebody wants to end.")
    runs: list[Run]


class Accepted(BaseModel):
    """It counts."""

    accepted: bool = True


class Left(BaseModel):
    """What is still there."""

    runs: int


@router.get("/me")
async def me(caller: Dialler) -> Me:
    """Say whom the token is for. It changes nothing: a registration would end one that is there."""
    return Me(runner=caller.runner or "", pool=caller.pool or "", namespace=caller.namespace, group=caller.group)


@router.post("/register")
async def register(request: Request, hello: Hello, caller: Dialler) -> Welcome:
    """Become the current registration of the runner that the token is for."""
    made = await services_of(request).desk.register(caller.token, hello)
    return Welcome.of(made, hello.heartbeat_seconds)


@router.get("/runs", response_model=Found)
async def runs(
    request: Request, caller: Dialler, incarnation: Annotated[Number, Query()],
    want: Annotated[int, Query(ge=0, le=10_000, description="At most 100 come at once.")] = 1,
    wait: Annotated[float, Query(ge=0, le=LONGEST_POLL)] = LONGEST_POLL,
) -> Response:  # fmt: skip
    """Wait for runs, for a cancel or for a drain; after `wait` seconds at most with nothing."""
    services = services_of(request)
    place = await services.desk.place(caller.token, incarnation)
    poll, by = Poll(), Connection(IncarnationId(incarnation))
    guest = Guest(by, place.pool, place.slots, poll.give, poll.tell, poll.end, min(want, MOST_AT_ONCE))
    watching = asyncio.create_task(_watch(request, poll))
    try:
        services.hub.enter(guest)
        with services.metrics.waiting_polls.track_inprogress():
            await poll.wait(held_for(wait), guest.tried if want else None)
    finally:
        watching.cancel()
        await services.hub.leave(guest)
    if poll.hung_up and poll.jobs:  # nobody reads the answer: others shall have them
        services.metrics.claim_failed("undelivered", len(poll.jobs))
        await services.dialling.take_back(by.incarnation, poll.jobs)
    # whoever asks again shall ask a gateway that stays
    headers = {"connection": "close"} if services.leaving.is_set() else None
    return Response(poll.text(guest.verdict), headers=headers, media_type="application/json")


def held_for(wait: float) -> float:
    """A little less for some: a thousand that came together, as after a restart, must not come back together."""
    return wait * random.uniform(SHORTEST_HOLD, 1)  # noqa: S311 -- no secret


async def _watch(request: Request, poll: "Poll") -> None:
    """After a request without a body only its connection's end can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    poll.hung_up = True
    poll.end()


class Poll:
    """What has come for one poll."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._something = asyncio.Event()
        self._news: News | None = None
        self.jobs: list[Claimed] = []
        self.hung_up = False

    async def wait(self, seconds: float, tried: asyncio.Event | None) -> None:
        """For something, so long; but not before somebody has looked."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._something.wait()
        if tried is not None and not self._something.is_set():
            await tried.wait()

    def give(self, jobs: tuple[Claimed, ...]) -> None:
        """Runs."""
        self.jobs += jobs
        self.end()

    def tell(self, news: News) -> None:
        """Something else."""
        self._news = news
        self.end()

    def end(self) -> None:
        """It is over, with what has come."""
        self._something.set()

    def text(self, verdict: str) -> str:
        """The answer."""
        if self._news is not None:
            verdict = self._news.verdict
        if verdict in ("moved", "lapsed"):  # another poll is there, or the next one is told
            verdict = "ok"
        cancelled = sorted(self._news.cancelled) if self._news else []
        given = ", ".join(run_text(job) for job in self.jobs)
        return f'{{"verdict": {json.dumps(verdict)}, "cancelled": {json.dumps(cancelled)}, "runs": [{given}]}}'


@router.post("/heartbeat")
async def heartbeat(request: Request, body: Heartbeat, caller: Dialler) -> Beat:
    """Keep the registration alive, and confirm its runs."""
    services = services_of(request)
    owner = await _owner(services, caller, body.incarnation)
    return Beat.of(await services.desk.beat(Sent(Connection(owner), held(body.runs))))


@router.post("/drain")
async def drain(request: Request, body: Owner, caller: Dialler) -> Left:
    """Claim nothing any more."""
    services = services_of(request)
    return Left(runs=await services.dialling.drain(await _owner(services, caller, body.incarnation)))


class OwnLeave(Leave, Owner):
    """With whose registration it is."""


@router.post("/deregister")
async def deregister(request: Request, body: OwnLeave, caller: Dialler) -> Left:
    """Leave; what is still held goes back, nothing charged unless there is a `cause`."""
    services = services_of(request)
    return Left(runs=await services.desk.leave(await _owner(services, caller, body.incarnation), body))


class OwnComplete(Complete, Owner):
    """With whose run it is."""


class OwnFail(Fail, Owner):
    """With whose run it is."""


class OwnHandBack(HandBack, Owner):
    """With whose run it is."""


class OwnProgress(Progress, Owner):
    """With whose run it is."""


class OwnExtend(Extend, Owner):
    """With whose run it is."""


class OwnLog(Log, Owner):
    """With whose run it is."""


@router.post("/runs/{job}/complete")
async def complete(request: Request, job: Job, body: OwnComplete, caller: Dialler) -> Accepted:
    """It is done."""
    return await _report(request, job, body.incarnation, body, caller)


@router.post("/runs/{job}/fail")
async def fail(request: Request, job: Job, body: OwnFail, caller: Dialler) -> Accepted:
    """It failed."""
    return await _report(request, job, body.incarnation, body, caller)


@router.post("/runs/{job}/hand-back")
async def hand_back(request: Request, job: Job, body: OwnHandBack, caller: Dialler) -> Accepted:
    """Somebody else shall do it, nothing charged."""
    return await _report(request, job, body.incarnation, body, caller)


@router.post("/runs/{job}/progress")
async def progress(request: Request, job: Job, body: OwnProgress, caller: Dialler) -> Accepted:
    """How far it is."""
    return await _report(request, job, body.incarnation, body, caller)


@router.post("/runs/{job}/extend")
async def extend(request: Request, job: Job, body: OwnExtend, caller: Dialler) -> Accepted:
    """It needs more time."""
    return await _report(request, job, body.incarnation, body, caller)


@router.post("/runs/{job}/log")
async def log(request: Request, job: Job, body: OwnLog, caller: Dialler) -> Accepted:
    """More of its output."""
    return await _report(request, job, body.incarnation, body, caller)


async def _report(request: Request, job: int, incarnation: int, about: About, caller: Identity) -> Accepted:
    services = services_of(request)
    owner = await _owner(services, caller, incarnation)
    if not await services.desk.report(owner, JobId(job), about):
        raise Problem(409, "not_yours", f"run {job} with fence {about.fence} is not this registration's any more")
    return Accepted()


async def _owner(services: Services, caller: Identity, incarnation: int) -> IncarnationId:
    """The registration, if it came with the caller's token."""
    await services.desk.place(caller.token, incarnation)
    return IncarnationId(incarnation)
