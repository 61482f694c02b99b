"""The cluster API: who works here, and who is to be taken out. As on each runner's own port, for all of them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from paceline.claims import IncarnationId
from paceline.reading import Reader
from paceline.seen import RunnerSeen
from paceline_gateway.auth import Admin
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of

router = APIRouter(prefix="/cluster", tags=["cluster"])


class Node(BaseModel):
    """A runner."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="The Runner's name.")
    hostname: str = Field(description="Of its pod or machine.")
    started_at: datetime = Field(description="When it registered.")
    last_heartbeat: datetime = Field(description="When it was last heard of.")
    state: str = Field(description="active, draining, or stale: its lease has ended.")
    instances_claimed: int = Field(description="Jobs that it holds now.")


@router.get("/nodes")
async def list_nodes(request: Request, caller: Admin) -> list[Node]:
    """The runners of the pools that the token is for, the newest registration first."""
    found = await Reader(services_of(request).database).list_runners(caller.pool)
    return [Node.model_validate(each) for each in found]


@router.post(
    "/nodes/{node}/drain",
    response_class=Response,
    responses={
        200: {"description": "It claims nothing any more, finishes what it has, and leaves.", "content": {}},
        404: {"description": "There is no such runner that the token may see."},
        409: {"description": "Several have that id (`ambiguous`), or it is not there any more (`stale`)."},
    },
)
async def drain(
    request: Request,
    node: Annotated[str, Path(description="The Runner's name.")],
    caller: Admin,
    group: Annotated[str | None, Query(description="namespace/name, where several groups have the id.")] = None,
    install: Annotated[str | None, Query(description="Where several operators share the database.")] = None,
) -> Response:
    """Let a runner claim nothing any more, finish, and leave. One that a group keeps gets a new pod."""
    services = services_of(request)
    caller.may_write()
    found = [
        each for each in await Reader(services.database).list_runners(caller.pool, group)
        if each.id == node and install in (None, each.install)
    ]  # fmt: skip
    if not found:
        raise Problem(404, "not_found", f'there is no runner "{node}" here: see GET /cluster/nodes')
    if len({each.runner for each in found}) > 1:
        raise _ambiguous(node, found)
    live = [each for each in found if each.state != "stale"]
    if not live:
        raise Problem(409, "stale", f'runner "{node}" was not heard of in time: what it had has gone back')
    for each in live:
        if each.state == "active":
            await services.dialling.drain(IncarnationId(each.incarnation))
    return Response(status_code=200)


def _ambiguous(node: str, found: list[RunnerSeen]) -> Problem:
    owners = sorted({(f"{each.namespace}/{each.group}", each.install) for each in found})
    names = ", ".join(f"{group} of {install}" if install else group for group, install in owners)
    return Problem(
        409, "ambiguous", f'several groups have a runner "{node}": {names}; choose with ?group= (and &install=)',
        groups=[{"group": group, "install": install} for group, install in owners],
    )  # fmt: skip
