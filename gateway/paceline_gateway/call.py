"""Callers who wait: a request goes in as a job, and its result comes out as the answer.

How long a call may take is kept in the database too: when whoever waits here dies, the housekeeping cancels the job at
its deadline. One with an idempotency key may be waited for by several, and by one who comes back: it is left to that.
"""

import asyncio
import contextlib
from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, JsonValue

from paceline.errors import PacelineError
from paceline.job import Enqueued, JobId
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.results import Outcome, outcome
from paceline_gateway.auth import Producer
from paceline_gateway.bodies import EnqueueBody
from paceline_gateway.jobs import LONGEST_WAIT, Once, canonical, trace_of
from paceline_gateway.problem import Problem
from paceline_gateway.services import Services, services_of
from paceline_gateway.waiting import LAST_SECONDS, HungUpError, LeavingError, patiently

LOST: Final = "Poison"
"""The cause of a dead letter whose runner was lost."""
TIMED_OUT: Final = "TimedOut"
HUNG_UP: Final = 499
"""In the log; nobody is there to see it."""
router = APIRouter(prefix="/v1", tags=["calls"])


class CallBody(EnqueueBody):
    """A job whose result is the answer."""

    timeout_seconds: Annotated[float, Field(gt=0, le=LONGEST_WAIT, allow_inf_nan=False)] = Field(
        30, description="The deadline: then it is cancelled."
    )


class Answer(BaseModel):
    """What the handler returned."""

    id: int = Field(description="The job's.")
    result: JsonValue


@router.post(
    "/call",
    response_model=Answer,
    responses={
        409: {"description": "Somebody else cancelled it, or the housekeeping did at the deadline of who asked first."},
        502: {"description": "Its runner was lost (`runner_failed`), or it failed (`job_failed`)."},
        504: {"description": "It was not done before its deadline, and is cancelled."},
    },
)
async def call(request: Request, body: CallBody, caller: Producer, once: Once = None) -> Answer | Response:
    """Enqueue a job and wait for its result.

    502 `runner_failed`: its runner was lost. 502 `job_failed`: it failed. 504 `deadline`: it took too long, and is
    cancelled; so it is when the caller hangs up. Without an idempotency key it is tried once. With one it may be asked
    for again, here or at another gateway, also when it has ended meanwhile: what it returned is the answer. At its
    deadline the housekeeping cancels it, and whoever asks after that gets 409 `cancelled`.
    """
    services = services_of(request)
    caller.may_write()
    pool = caller.pool_or(body.pool)
    clock = asyncio.get_running_loop().time
    begun = clock()  # the database counts from a little later
    made = await _enqueue(services, pool, body, once, trace_of(request))
    ours = once is None and made.created
    grace = LAST_SECONDS if once is None else 0.0  # only with a key can it be asked for elsewhere
    wait, seconds = services.answers.wait(made.id), body.timeout_seconds
    try:
        with services.metrics.waiting_calls.track_inprogress():
            ended = await patiently(request, wait, seconds, services.leaving, grace)
    except (TimeoutError, LeavingError) as early:
        late = await _cancel(services, pool, made.id) if ours else None
        if late is None:
            closes = isinstance(early, LeavingError)
            raise (_closing(made.id, once, ours=ours) if closes else _too_late(made.id, seconds)) from None
        ended = late
    except (HungUpError, asyncio.CancelledError) as gone:
        if ours:
            await _cancel(services, pool, made.id)
        if isinstance(gone, asyncio.CancelledError):
            raise
        return Response(status_code=HUNG_UP)
    if ended.state == "cancelled" and clock() - begun >= seconds:  # the housekeeping was quicker
        raise _too_late(made.id, seconds)
    return await _answer(services, made.id, ended)


async def _enqueue(services: Services, pool: str, body: CallBody, once: str | None, trace: str | None) -> Enqueued:
    """Nobody starts it after its deadline. A caller without a key tries again himself."""
    wait, changes = timedelta(seconds=body.timeout_seconds), dict[str, float]()
    if once is None:
        if given := sorted({"max_tries", "max_losses"} & body.model_fields_set):
            raise Problem(422, "invalid", f"{' and '.join(given)} of a call needs the header Idempotency-Key (add it)")
        changes = {"max_tries": 1, "max_losses": 0}
    if body.expires_at is None and body.expires_in_seconds is None:
        changes["expires_in_seconds"] = body.timeout_seconds
    job = body.model_copy(update=changes).job(trace)
    if once is None:
        return await services.coalescer.enqueue(pool, job, wait)
    with services.metrics.writing("enqueue"):
        (made,) = await enqueue_once(
            services.database, pool, [job], key=once, request=canonical("call", body), waits=[wait]
        )
    return made


def _too_late(job: JobId, seconds: float) -> Problem:
    return Problem(504, "deadline", f"job {job} was not done after {seconds:g} s", job=job)


def _closing(job: JobId, once: str | None, *, ours: bool) -> Problem:
    """Another gateway answers; whoever has a key gets there what became of this job."""
    again = "ask again with the same key" if once is not None else "ask again"
    done = f", and job {job} is cancelled" if ours else ""
    return Problem(503, "leaving", f"this gateway closes{done}: {again}", job=job)


async def _answer(services: Services, job: JobId, ended: Outcome) -> Answer:
    if ended.state == "done":
        return Answer(id=job, result=ended.result)
    if ended.state == "expired":
        raise Problem(504, "deadline", f"nobody could begin with job {job} in time", job=job)
    if ended.state == "cancelled":
        raise Problem(409, "cancelled", f"job {job} was cancelled", job=job)
    if ended.cause == LOST:
        attempts = await Reader(services.database).job_attempts(job)
        runner = next((each.runner for each in attempts if each.outcome == "lost"), None)
        raise Problem(502, "runner_failed", f"Runner {runner or 'unknown'} disconnected mid-job", job=job)
    if ended.cause == TIMED_OUT:
        raise Problem(504, "deadline", ended.error or f"job {job} took too long", job=job)
    raise Problem(502, "job_failed", ended.error or "the handler failed", job=job, cause=ended.cause)


async def _cancel(services: Services, pool: str, job: JobId) -> Outcome | None:
    """Take it out; how it ended, should it have done so in the last moment."""
    with contextlib.suppress(PacelineError):  # then the housekeeping cancels it
        if await Queue(services.database, pool).cancel(job) == "finished":
            return await outcome(services.database, job)
    return None
