"""Dead letters: looked at, put back, thrown away."""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Request
from pydantic import AwareDatetime, BaseModel, Field, model_validator

from paceline.job import JobId
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.seen import DeadPlace
from paceline_gateway.auth import Admin, Producer
from paceline_gateway.bodies import Body
from paceline_gateway.identity import Identity
from paceline_gateway.jobs import Limit
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of
from paceline_gateway.views import DeadView

BATCH: Final = 1_000
"""So many change in one transaction."""
MOST: Final = 10_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
PLACE: Final = re.compile(r"([0-9]{1,17})-([0-9]{1,19})")
router = APIRouter(prefix="/v1/dead", tags=["dead letters"])
Act = Callable[[Sequence[JobId]], Awaitable[list[JobId]]]


class Page(BaseModel):
    """Dead letters, the latest death first."""

    dead: list[DeadView]
    next: str | None = Field(description="Give it as `after` to get the next page; null on the last one.")


class Which(Body):
    """Dead letters by their ids, or by what they have in common; never all of them by accident."""

    ids: list[Annotated[int, Field(strict=True, ge=1, lt=2**63)]] | None = Field(None, max_length=MOST)
    pool: str | None = Field(
        None, description="The token's own where it has one; else `default`, or with `ids` every pool."
    )
    kind: str | None = None
    cause: str | None = Field(None, description="As in Failed, Poison or TimedOut.")
    since: AwareDatetime | None = Field(None, description="Died after this.")
    until: AwareDatetime | None = Field(None, description="Died before this.")
    all: bool = Field(False, description="All of the pool.")

    @model_validator(mode="after")
    def says_which(self) -> "Which":
        """Exactly one way to say it."""
        narrow = any((self.kind, self.cause, self.since, self.until))
        if self.ids is not None and (narrow or self.all):
            raise ValueError("ids and a filter exclude each other (give one)")
        if self.ids is None and not narrow and not self.all:
            raise ValueError("say which: ids, a filter (kind, cause, since, until), or all")
        return self


class Went(BaseModel):
    """What was done to which."""

    ids: list[int]
    left: list[int] = Field(
        description="Those that were asked for and are no dead letters, or whose dedupe value a live job has."
    )
    more: bool = Field(description="The filter matches others too: 10,000 at most are done at once. Ask again.")


@router.get("")
async def list_dead(
    request: Request, caller: Producer, pool: str | None = None, kind: str | None = None, cause: str | None = None,
    since: AwareDatetime | None = None, until: AwareDatetime | None = None, after: str | None = None,
    limit: Limit = 100,
) -> Page:  # fmt: skip
    """Dead letters of a pool, or of all that the token may see."""
    found = await Reader(services_of(request).database).list_dead(
        caller.pool_or_all(pool), kind=kind, cause=cause, since=since, until=until, before=_place(after),
        limit=limit + 1,
    )  # fmt: skip
    shown = found[:limit]
    return Page(
        dead=[DeadView.model_validate(each) for each in shown],
        next=_cursor(shown[-1].died_at, shown[-1].id) if len(found) > limit else None,
    )


@router.post("/redrive")
async def redrive(request: Request, which: Which, caller: Producer) -> Went:
    """Put dead letters back into the queue, as new as on their first day."""
    return await _act(request, which, caller, Queue(services_of(request).database).redrive)


@router.post("/purge")
async def purge(request: Request, which: Which, caller: Admin) -> Went:
    """Delete dead letters for good."""
    return await _act(request, which, caller, Queue(services_of(request).database).purge)


async def _act(request: Request, which: Which, caller: Identity, act: Act) -> Went:
    caller.may_write()
    reader = Reader(services_of(request).database)
    if which.ids is not None:
        asked, more = [JobId(each) for each in dict.fromkeys(which.ids)], False
        chosen = await reader.find_dead(asked, caller.pool_or_all(which.pool))
    else:
        found = await _matching(reader, which, caller.pool_or(which.pool))
        chosen, more = found[:MOST], len(found) > MOST
        asked = chosen
    went: list[JobId] = []
    for start in range(0, len(chosen), BATCH):
        went += await act(chosen[start : start + BATCH])
    done = set(went)
    return Went(ids=list(went), left=[each for each in asked if each not in done], more=more)


async def _matching(reader: Reader, which: Which, pool: str) -> list[JobId]:
    """At least one more than may be done at once, if there are so many."""
    chosen: list[JobId] = []
    last = None
    while len(chosen) <= MOST:
        page = await reader.list_dead(
            pool, kind=which.kind, cause=which.cause, since=which.since, until=which.until, before=last, limit=BATCH
        )
        chosen += [each.id for each in page]
        if len(page) < BATCH:
            break
        last = page[-1]
    return chosen


def _cursor(died_at: datetime, job: JobId) -> str:
    """Where a page ended: a moment in microseconds, and an id. It need not be there any more for the next one."""
    return f"{(died_at - EPOCH) // timedelta(microseconds=1)}-{job}"


def _place(after: str | None) -> DeadPlace | None:
    if after is None:
        return None
    place = PLACE.fullmatch(after)
    if place is None or int(place[2]) >= 2**63:
        raise Problem(422, "invalid", f'after "{after[:60]}" is none: give the `next` of the page before')
    return DeadPlace(EPOCH + timedelta(microseconds=int(place[1])), JobId(int(place[2])))
