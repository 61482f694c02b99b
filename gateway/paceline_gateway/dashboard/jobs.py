"""Jobs, dead letters and cron, as producers have them, for the page; and what history remembers."""

from datetime import datetime

from fastapi import APIRouter, Request
from pydantic import BaseModel

from paceline.cron import Cron
from paceline.reading import Reader
from paceline.seen import EndState
from paceline_gateway import cron, dead, jobs
from paceline_gateway.auth import Admin
from paceline_gateway.door import DASHBOARD
from paceline_gateway.services import services_of
from paceline_gateway.views import View

router = APIRouter(prefix=DASHBOARD, include_in_schema=False)


class FinishedView(View):
    """A job that has ended, and is no dead letter."""

    id: int
    pool: str
    kind: str
    state: EndState
    priority: int
    enqueued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime
    tries: int
    losses: int
    runner: str | None


class Finished(BaseModel):
    """A page of them, the newest first."""

    jobs: list[FinishedView]
    next: str | None


class PoolEntry(cron.EntryView):
    """A cron entry, and its pool."""

    pool: str


@router.get("/finished")
async def list_finished(
    request: Request, caller: Admin, pool: str | None = None, kind: str | None = None, after: str | None = None,
    limit: jobs.Limit = 50,
) -> Finished:  # fmt: skip
    """Jobs that were done, cancelled, or expired."""
    found = await Reader(services_of(request).database).list_finished(
        caller.pool_or_all(pool), kind=kind, before=jobs.cursor(after), limit=limit + 1
    )
    shown = found[:limit]
    return Finished(
        jobs=[FinishedView.model_validate(each) for each in shown],
        next=str(shown[-1].id) if len(found) > limit else None,
    )


@router.get("/cron")
async def list_cron(request: Request, caller: Admin, pool: str | None = None) -> list[PoolEntry]:
    """The cron entries of a pool, or of all."""
    services = services_of(request)
    cards = await services.board.cards(caller.pool_or_all(pool))
    return [
        PoolEntry(pool=name, **cron.EntryView.of(entry).model_dump())
        for name in sorted(each.pool.name for each in cards)
        for entry in await Cron(services.database, name).list()
    ]


router.add_api_route("/jobs", jobs.list_jobs)
router.add_api_route("/jobs/{job}", jobs.show)
router.add_api_route("/jobs/{job}/logs", jobs.logs)
router.add_api_route("/jobs/{job}/cancel", jobs.cancel, methods=["POST"])
router.add_api_route("/jobs/{job}/retry", jobs.retry, methods=["POST"])
router.add_api_route("/dead", dead.list_dead)
router.add_api_route("/dead/redrive", dead.redrive, methods=["POST"])
router.add_api_route("/cron/{name:path}/pause", cron.pause, methods=["POST"], status_code=204)
router.add_api_route("/cron/{name:path}/resume", cron.resume, methods=["POST"], status_code=204)
