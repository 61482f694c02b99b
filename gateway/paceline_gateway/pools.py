"""The pools that a token may see, and how much is in them."""

from fastapi import APIRouter, Request
from pydantic import BaseModel

from paceline.reading import Reader
from paceline_gateway.auth import Producer
from paceline_gateway.services import services_of
from paceline_gateway.views import PoolView

router = APIRouter(prefix="/v1/pools", tags=["pools"])


class Pools(BaseModel):
    """Pools, by name."""

    pools: list[PoolView]


@router.get("")
async def list_pools(request: Request, caller: Producer) -> Pools:
    """The pools that the token may see, by name."""
    found = await Reader(services_of(request).database).list_pools()
    return Pools(pools=[PoolView.model_validate(each) for each in found if caller.pool in (None, each.name)])
