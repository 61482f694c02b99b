"""Producers: put jobs in, follow them, take them out again."""

import contextlib
import json
import re
from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter, Body, FastAPI, Header, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from paceline.job import JobId
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import JobDetail, LiveState
from paceline_gateway.auth import Producer
from paceline_gateway.bodies import EnqueueBody, ManyBody, OneOrMany
from paceline_gateway.headers import header
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import Services, services_of
from paceline_gateway.straight import JSON, Straight
from paceline_gateway.views import AttemptView, EnqueuedMany, EnqueuedView, JobView
from paceline_gateway.waiting import HungUpError, LeavingError, patiently

LONGEST_WAIT: Final = 300
MOST_LISTED: Final = 500
TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
NUMBER: Final = re.compile(r"[0-9]{1,19}")
ONE_MADE: Final = b'{"id":%d,"created":%b}'
"""Written out: an encoder made for each of thousands of answers takes as long as checking the job."""
router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
Once: TypeAlias = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The same key with the same request gives the same jobs, for a day."),
]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=MOST_LISTED)]


class Happened(BaseModel):
    """What became of a wish."""

    id: int
    answer: str = Field(
        description="cancelled, cancelling (its handler is told) or retried; or why not: "
        "finished, waiting, running, duplicate"
    )


class Attempts(BaseModel):
    """The attempts on record, newest first."""

    attempts: list[AttemptView]


class Page(BaseModel):
    """Live jobs, newest first."""

    jobs: list[JobView]
    next: str | None = Field(description="Give it as `after` to get the next page; null on the last one.")


async def enqueue(
    request: Request, body: Annotated[OneOrMany, Body()], caller: Producer, once: Once = None
) -> Response:
    """Put one job in; or up to 10,000, as a list or in `jobs`: all of them or none."""
    services = services_of(request)
    caller.may_write()
    if isinstance(body, list):
        body = ManyBody.model_construct(jobs=body)
    pool, trace = caller.pool_or(body.pool), trace_of(request)
    if isinstance(body, EnqueueBody):
        job = body.job(trace)
        if once is None:
            made = await services.coalescer.enqueue(pool, job)
        else:
            with services.metrics.writing("enqueue"):
                (made,) = await enqueue_once(services.database, pool, [job], key=once, request=canonical("jobs", body))
        return Response(ONE_MADE % (made.id, b"true" if made.created else b"false"), 201, media_type=JSON)
    jobs = body.new_jobs(trace)
    with services.metrics.writing("enqueue"):
        if once is None:
            many = await Queue(services.database, pool).enqueue_many(jobs)
        else:
            many = await enqueue_once(services.database, pool, jobs, key=once, request=canonical("jobs", body))
    return JSONResponse({"jobs": [{"id": each.id, "created": each.created} for each in many]}, 201)


@router.get("")
async def list_jobs(
    request: Request, caller: Producer, pool: str | None = None, state: LiveState | None = None,
    kind: str | None = None, after: str | None = None, limit: Limit = 100,
) -> Page:  # fmt: skip
    """Live jobs of a pool, or of all that the token may see."""
    found = await Reader(services_of(request).database).list_jobs(
        caller.pool_or_all(pool), state=state, kind=kind, before=cursor(after), limit=limit + 1
    )
    shown = found[:limit]
    return Page(
        jobs=[JobView.model_validate(each) for each in shown],
        next=str(shown[-1].id) if len(found) > limit else None,
    )


@router.get("/{job}")
async def show(
    request: Request, job: int, caller: Producer,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="So long at most for its end.")] = 0,
) -> JobView:  # fmt: skip
    """One job, wherever it is; with `wait`, when it has ended or the time is over."""
    services = services_of(request)
    seen = await found_for(services, caller, job)
    if wait and seen.finished_at is None:
        with (
            contextlib.suppress(TimeoutError, HungUpError, LeavingError),
            services.metrics.waiting_calls.track_inprogress(),
        ):
            await patiently(request, services.answers.wait(JobId(job)), wait, services.leaving)
        seen = await found_for(services, caller, job)
    return JobView.model_validate(seen)


@router.get("/{job}/logs")
async def logs(request: Request, job: int, caller: Producer) -> Attempts:
    """What its attempts wrote and how they ended: those that did not simply succeed, or that left output."""
    services = services_of(request)
    await found_for(services, caller, job)
    found = await Reader(services.database).job_attempts(JobId(job))
    return Attempts(attempts=[AttemptView.model_validate(each) for each in found])


@router.post("/{job}/cancel")
async def cancel(request: Request, job: int, caller: Producer) -> Happened:
    """Take it out; a running handler is told."""
    return Happened(id=job, answer=await (await _queue_of(request, job, caller)).cancel(JobId(job)))


@router.post("/{job}/retry")
async def retry(request: Request, job: int, caller: Producer) -> Happened:
    """Try it again now: a dead one, or one that waits for its next try or its time."""
    return Happened(id=job, answer=await (await _queue_of(request, job, caller)).retry(JobId(job)))


async def _queue_of(request: Request, job: int, caller: Identity) -> Queue:
    """For whoever wants to change a job."""
    services = services_of(request)
    caller.may_write()
    return Queue(services.database, (await found_for(services, caller, job)).pool)


async def found_for(services: Services, caller: Identity, job: int) -> JobDetail:
    """A job that the caller may see; one of another pool is as unknown as one that is not there."""
    seen = await Reader(services.database).job_detail(JobId(job)) if 0 < job < 2**63 else None
    if seen is None or caller.pool not in (None, seen.pool):
        raise Problem(404, "not_found", f"there is no job {str(job)[:20]} that this token may see")
    return seen


def install(app: FastAPI) -> None:
    """The route that is asked most often goes before all others."""
    app.router.add_api_route(
        "/v1/jobs", enqueue, methods=["POST"], status_code=201, response_model=EnqueuedView | EnqueuedMany,
        tags=["jobs"], route_class_override=Straight,
    )  # fmt: skip


def canonical(route: str, body: BaseModel) -> bytes:
    """A request in a form that depends neither on how it was written nor on what a later version adds to it."""
    said = body.model_dump(mode="json", exclude_defaults=True, exclude={"pool"})
    return json.dumps([route, said], sort_keys=True, separators=(",", ":")).encode()


def trace_of(request: Request) -> str | None:
    """The trace that a request belongs to; a header that is none is ignored, as the standard wants it."""
    given = header(request.scope, b"traceparent")
    return given if given is not None and TRACEPARENT.fullmatch(given) else None


def cursor(after: str | None) -> JobId | None:
    """The id that a page ended with."""
    if after is None:
        return None
    if not NUMBER.fullmatch(after) or int(after) >= 2**63:
        raise Problem(422, "invalid", f'after "{after[:40]}" is none: give the `next` of the page before')
    return JobId(int(after))
