"""Runners: who is there, who shall leave, and what is kept away from whom."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from paceline.claims import IncarnationId
from paceline.reading import Reader
from paceline.seen import RunnerSeen, RunnerState
from paceline.taint import parse_taints
from paceline.tainting import list_taints, set_taints
from paceline_gateway.auth import Admin
from paceline_gateway.bodies import Body
from paceline_gateway.door import DASHBOARD
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import Services, services_of
from paceline_gateway.views import View

PAGE: Final = 50
SOURCE: Final = "api"
"""Of taints that are set here; each source has its own, and none touches another's."""
router = APIRouter(prefix=f"{DASHBOARD}/runners", include_in_schema=False)


class RunnerView(View):
    """A registration that lives, or a Runner that was lost."""

    id: str
    runner: int
    incarnation: int
    pool: str
    namespace: str
    group: str
    hostname: str
    state: RunnerState
    external: bool
    leader: bool
    instances_claimed: int
    slots: int
    revision: str | None
    tags: Sequence[str]
    taints: Sequence[str]
    started_at: datetime
    last_heartbeat: datetime


class Page(BaseModel):
    """Some of those that were asked for."""

    runners: list[RunnerView]
    total: int
    page: int
    pages: int
    states: Mapping[str, int] = Field(description="How many of each, whatever state was asked for.")


class TaintView(BaseModel):
    """A taint, and where it comes from."""

    source: str
    taint: str


class TaintsBody(Body):
    """Those of the API, all of them."""

    taints: str = Field(description="As in gpu=bad:NoClaim,maint:Drain; empty: none.")


@router.get("")
async def list_runners(
    request: Request, caller: Admin, pool: str | None = None, state: RunnerState | None = None, text: str = "",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Page:  # fmt: skip
    """A page of runners, by name; `text` is part of a name, a group or a host."""
    found = await Reader(services_of(request).database).list_runners(caller.pool_or_all(pool))
    matching = [each for each in found if text in each.id or text in each.group or text in each.hostname]
    chosen = sorted((each for each in matching if state in (None, each.state)), key=lambda each: (each.pool, each.id))
    pages = max(1, -(-len(chosen) // PAGE))
    here = min(page, pages)
    return Page(
        runners=[RunnerView.model_validate(each) for each in chosen[(here - 1) * PAGE : here * PAGE]],
        total=len(chosen), page=here, pages=pages, states=Counter(each.state for each in matching),
    )  # fmt: skip


@router.post("/{runner}/drain", status_code=204)
async def drain(request: Request, runner: int, caller: Admin) -> None:
    """Let it claim nothing any more, finish, and leave."""
    services = services_of(request)
    caller.may_write()
    live = [each for each in await _registrations(services, caller, runner) if each.state != "stale"]
    if not live:
        raise Problem(409, "stale", "this runner was not heard of in time: what it had has gone back")
    for each in live:
        await services.dialling.drain(IncarnationId(each.incarnation))


@router.get("/{runner}/taints")
async def show_taints(request: Request, runner: int, caller: Admin) -> list[TaintView]:
    """All taints of a Runner."""
    services = services_of(request)
    await _registrations(services, caller, runner)
    found = await list_taints(services.database, runner)
    return [TaintView(source=each.source, taint=str(each)) for each in found]


@router.put("/{runner}/taints", status_code=204)
async def put_taints(request: Request, runner: int, body: TaintsBody, caller: Admin) -> None:
    """Set those that come from here; those of annotations, specs and groups stay."""
    services = services_of(request)
    caller.may_write()
    taints = parse_taints(body.taints)
    await _registrations(services, caller, runner)
    await set_taints(services.database, runner, SOURCE, taints)


async def _registrations(services: Services, caller: Identity, runner: int) -> list[RunnerSeen]:
    """Of a Runner that the caller may see."""
    found = [each for each in await Reader(services.database).list_runners(caller.pool) if each.runner == runner]
    if not found:
        raise Problem(404, "not_found", "there is no such runner any more: reload the list")
    return found
