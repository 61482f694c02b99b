"""How well the database is: whether the housekeeping is done, and who holds vacuum back."""

from fastapi import APIRouter, Request

from paceline.reading import Reader
from paceline.seen import Health
from paceline_gateway.auth import Admin
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of

router = APIRouter(prefix="/cluster", tags=["cluster"])


@router.get("/database")
async def show(request: Request, caller: Admin) -> Health:
    """For a token of every pool: sessions of others are named."""
    if caller.pool is not None:
        raise Problem(403, "not_allowed", "this is about the whole database: it needs a token without a pool")
    return await Reader(services_of(request).database).health()
