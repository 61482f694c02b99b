"""The pools that a token may see, how much is in them, and what holds their jobs back."""

from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from paceline import admin
from paceline.database import Database
from paceline.job import LARGEST
from paceline.queue import Queue
from paceline.reading import Reader
from paceline_gateway.auth import Admin, Producer
from paceline_gateway.bodies import Body, Kind, Name
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of
from paceline_gateway.views import PoolView

router = APIRouter(prefix="/v1/pools", tags=["pools"])
PoolName: TypeAlias = Annotated[str, Path(description="The pool's name.")]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=LARGEST)]
Rate: TypeAlias = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Burst: TypeAlias = Annotated[float, Field(ge=1, le=1e9, allow_inf_nan=False)]
BURST = "How many may start at once after a quiet time; the rate (at least 1) if not given."


class Change(Body):
    """What is set; a pool that is not there is an error unless it is to be made."""

    create: bool = Field(False, description="Make the pool if it is not there yet.")


class LimitsBody(Change):
    """Limits of a pool: null takes one away, and what is not given stays."""

    max_depth: Count | None = Field(None, description="Refuse to enqueue when so many jobs are waiting.")
    rate: Rate | None = Field(None, description="Start at most so many jobs per second.")
    burst: Burst | None = Field(None, description=BURST)

    def asked(self, name: str) -> Any:
        """As the database has it: None stays, and a negative number takes it away."""
        given = getattr(self, name)
        return -1 if given is None and name in self.model_fields_set else given


class KindBody(Change):
    """How many jobs of a kind start per second, over all runners of the pool."""

    kind: Kind
    rate: Rate | None = Field(description="Jobs per second; null is no limit.")
    burst: Burst | None = Field(None, description=BURST)


class KeyBody(Change):
    """Both limits of a concurrency key; what is not given, or null, is no limit afterwards."""

    key: Name
    limit: Count | None = Field(None, description="So many of its jobs run at once.")
    rate: Rate | None = Field(None, description="So many of its jobs start per second.")
    burst: Burst | None = Field(None, description=BURST)


class Pools(BaseModel):
    """Pools, by name."""

    pools: list[PoolView]


@router.get("")
async def list_pools(request: Request, caller: Producer) -> Pools:
    """The pools that the token may see, by name."""
    found = await Reader(services_of(request).database).list_pools()
    return Pools(pools=[PoolView.model_validate(each) for each in found if caller.pool in (None, each.name)])


@router.patch("/{pool}")
async def set_limits(request: Request, pool: PoolName, body: LimitsBody, caller: Admin) -> PoolView:
    """Set limits of a pool; the pool as it is then."""
    database = await _changeable(request, pool, body, caller)
    if body.burst is not None and not await _rated(database, pool, body):
        raise Problem(422, "invalid", f'burst: pool "{pool}" has no rate (give the rate too)')
    await admin.set_pool(
        database, pool, max_depth=body.asked("max_depth"), rate=body.asked("rate"), burst=body.burst
    )  # fmt: skip
    return PoolView.model_validate(await admin.existing_pool(database, pool))


@router.put("/{pool}/kinds", status_code=204)
async def set_kind(request: Request, pool: PoolName, body: KindBody, caller: Admin) -> None:
    """Limit how many jobs of a kind start per second."""
    database = await _changeable(request, pool, body, caller)
    await admin.set_kind(database, pool, body.kind, -1 if body.rate is None else body.rate, body.burst)


@router.put("/{pool}/keys", status_code=204)
async def set_key(request: Request, pool: PoolName, body: KeyBody, caller: Admin) -> None:
    """Set both limits of a concurrency key."""
    database = await _changeable(request, pool, body, caller)
    await admin.set_key(database, pool, body.key, body.limit, body.rate, body.burst)


@router.post("/{pool}/pause", status_code=204)
async def pause(request: Request, pool: PoolName, caller: Admin) -> None:
    """Let nobody claim from it. What runs goes on, and jobs can be enqueued."""
    await Queue(await _changeable(request, pool, Change(), caller), pool).pause()


@router.post("/{pool}/resume", status_code=204)
async def resume(request: Request, pool: PoolName, caller: Admin) -> None:
    """End that."""
    await Queue(await _changeable(request, pool, Change(), caller), pool).resume()


async def _changeable(request: Request, pool: str, body: Change, caller: Identity) -> Database:
    """For whoever wants to change a pool."""
    database = services_of(request).database
    caller.may_write()
    caller.may_use(pool)
    if not body.create:
        await admin.existing_pool(database, pool)
    return database


async def _rated(database: Database, pool: str, body: LimitsBody) -> bool:
    """Whether a burst has a rate to go with: the one that is given, or the pool's."""
    if "rate" in body.model_fields_set:
        return body.rate is not None
    return any(each.name == pool and each.rate is not None for each in await Reader(database).list_pools())
