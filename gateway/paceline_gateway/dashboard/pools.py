"""The pools: how they stand, how they stood, and what was decided about their groups."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from paceline.database import Database
from paceline.reading import Reader
from paceline.scaling import DecisionSeen, GroupFound
from paceline.series import KEPT, Sample, list_depths, list_samples
from paceline_gateway.auth import Admin
from paceline_gateway.door import DASHBOARD
from paceline_gateway.services import services_of

MOST_DECISIONS: Final = 200
"""Marks on a chart; the oldest are left out."""
router = APIRouter(prefix=f"{DASHBOARD}/pools", include_in_schema=False)
Span = Annotated[int, Query(ge=60, le=int(KEPT.total_seconds()))]


class DecisionView(BaseModel):
    """A size, and why."""

    at: str
    group: str
    was: int
    replicas: int
    reason: str
    limited_by: str | None
    why: str


class Past(BaseModel):
    """A pool over time: samples as rows of numbers, in the order of `columns`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[float | None]]
    decisions: Sequence[DecisionView]


@router.get("")
async def list_pools(request: Request, caller: Admin) -> list[dict[str, Any]]:
    """How the pools stand, as in the stream."""
    return [each.told() for each in await services_of(request).board.cards(caller.pool)]


@router.get("/depths")
async def depths(request: Request, caller: Admin) -> dict[str, list[tuple[float, int]]]:
    """By pool, how many jobs were ready and when, over the last quarter of an hour."""
    found = await list_depths(services_of(request).database)
    return {
        each.pool: [(at.timestamp(), ready) for at, ready in zip(each.at, each.ready, strict=True)]
        for each in found
        if caller.pool in (None, each.pool)
    }


@router.get("/{pool}/past")
async def past(request: Request, pool: str, caller: Admin, span: Span = 3600) -> Past:
    """What its charts show."""
    database = services_of(request).database
    caller.may_use(pool)
    since = timedelta(seconds=span)
    samples = await list_samples(database, pool, since)
    columns = [name for name in Sample.__slots__ if name != "at"]
    return Past(
        columns=["at", *columns],
        rows=[[each.at.timestamp(), *(getattr(each, name) for name in columns)] for each in samples],
        decisions=await _decisions(database, pool, since),
    )


async def _decisions(database: Database, pool: str, since: timedelta) -> list[DecisionView]:
    """Of all its groups, the oldest first."""
    reader = Reader(database)
    groups = [each for each in await reader.find_groups() if each.pool == pool]
    found = [
        (decision, group)
        for group in groups
        for decision in await reader.list_decisions(group.id, since=since, most=MOST_DECISIONS)
    ]
    newest = sorted(found, key=lambda each: each[0].at)[-MOST_DECISIONS:]
    return [_view(decision, group) for decision, group in newest]


def _view(decision: DecisionSeen, group: GroupFound) -> DecisionView:
    return DecisionView(
        at=decision.at.isoformat(), group=group.full_name, was=decision.was, replicas=decision.replicas,
        reason=decision.reason, limited_by=decision.limited_by,
        why="; ".join(str(each.get("text", "")) for each in decision.proposals),
    )  # fmt: skip
