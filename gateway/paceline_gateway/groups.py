"""Groups as whoever looks after a cluster sees them: how each stands, why it has its size, who works and leads."""

from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from paceline.leading import Candidate, Leading
from paceline.reading import Reader
from paceline.scaling import DecisionSeen
from paceline.seen import GroupSnapshot, RunnerSeen, Unclaimable
from paceline_gateway.auth import Admin
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of

LONGEST: Final = 7 * 86_400
"""Seconds; the database forgets what is older."""
MOST: Final = 10_000
router = APIRouter(prefix="/cluster", tags=["cluster"])
PoolName = Annotated[str | None, Query(description="Only of this pool.")]
GroupName = Annotated[str | None, Query(description="Only of this group: a name, or namespace/name.")]


class Groups(BaseModel):
    """Groups, by their names."""

    groups: list[GroupSnapshot]


class Runners(BaseModel):
    """Runners with all that is known of them, the newest registration first."""

    runners: list[RunnerSeen]


class Decisions(BaseModel):
    """Why a group had the sizes that it had, the newest first."""

    decisions: list[DecisionSeen]


class Stuck(BaseModel):
    """Ready jobs that no runner could take, with the reason."""

    unclaimable: list[Unclaimable]


class Choice(BaseModel):
    """Who shall lead; without a runner a promotion ends."""

    model_config = ConfigDict(extra="forbid")

    runner: str | None = Field(None, description="The Runner; null ends the promotion in `group`.")
    group: str | None = Field(None, description="A name, or namespace/name; needed where several have the Runner.")
    install: str | None = Field(None, description="Where several operators share the database.")


class Led(BaseModel):
    """Who leads now."""

    install: str
    group: str
    leader: str | None
    epoch: int | None
    before: str | None = Field(description="Who was promoted until now, where a promotion was ended.")


@router.get("/groups")
async def list_groups(request: Request, caller: Admin) -> Groups:
    """How the groups of the pools that the token is for stand; counts end at 10,000."""
    found = await Reader(services_of(request).database).snapshot()
    return Groups(groups=[each for each in found if caller.pool in (None, each.pool)])


@router.get("/groups/{group}/decisions")
async def list_decisions(
    request: Request, group: int, caller: Admin,
    since_seconds: Annotated[float, Query(gt=0, le=LONGEST, description="How far back.")] = 3600,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
) -> Decisions:  # fmt: skip
    """Why a group, by its `id`, had the sizes that it had; they are kept for a week."""
    reader = Reader(services_of(request).database)
    mine = {each.id for each in await reader.find_groups() if caller.pool in (None, each.pool)}
    if group not in mine:
        raise Problem(404, "not_found", f"there is no group {group} that this token may see: see GET /cluster/groups")
    found = await reader.list_decisions(group, since=timedelta(seconds=since_seconds), most=limit)
    return Decisions(decisions=found)


@router.get("/runners")
async def list_runners(request: Request, caller: Admin, pool: PoolName = None, group: GroupName = None) -> Runners:
    """As `/cluster/nodes`, with group, slots, taints, tags, kinds and revision."""
    found = await Reader(services_of(request).database).list_runners(caller.pool_or_all(pool), group)
    return Runners(runners=found)


@router.get("/unclaimable")
async def list_unclaimable(request: Request, caller: Admin, pool: PoolName = None) -> Stuck:
    """Ready jobs that neither a live runner nor a new one could take, and why."""
    return Stuck(unclaimable=await Reader(services_of(request).database).unclaimable(caller.pool_or_all(pool)))


@router.post("/promote")
async def promote(request: Request, body: Choice, caller: Admin) -> Led:
    """Make a Runner the leader of its group for as long as it is eligible, or end a promotion."""
    caller.may_write()
    leading = Leading(services_of(request).database)
    await _visible(request, leading, body, caller)
    if body.runner is not None:
        now = await leading.promote(body.runner, group=body.group, install=body.install)
        return _led(now, None)
    if body.group is None:
        raise Problem(422, "invalid", "group: say whose promotion ends, or which runner shall lead")
    return _led(*await leading.clear(body.group, install=body.install))


async def _visible(request: Request, leading: Leading, body: Choice, caller: Identity) -> None:
    """A group of another pool is as unknown as one that is not there."""
    if caller.pool is None:
        return
    groups = await Reader(services_of(request).database).find_groups()
    mine = {each.id for each in groups if each.pool == caller.pool}
    found = await leading.candidates(install=body.install, group=body.group, runner=body.runner)
    if not {each.grp for each in found} <= mine:
        raise Problem(404, "not_found", "there is no such group or Runner that this token may see: name its group")


def _led(now: Candidate, before: str | None) -> Led:
    return Led(install=now.install, group=now.full_group, leader=now.leader, epoch=now.epoch, before=before)
