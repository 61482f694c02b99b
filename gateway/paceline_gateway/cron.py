"""Cron entries: jobs by the clock."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field, JsonValue

from paceline.cron import Cron, CronEntry, CronStatus
from paceline_gateway.auth import Producer
from paceline_gateway.bodies import Body, JobBody
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem
from paceline_gateway.services import services_of

router = APIRouter(prefix="/v1/cron", tags=["cron"])
Pool: TypeAlias = Annotated[str | None, Query(description="The token's own where it has one, else `default`.")]
Name: TypeAlias = Annotated[str, Path(description="The entry's name, unique in its pool.")]


class EntryBody(Body):
    """A job, and when it is made."""

    schedule: str = Field(description="minute hour day month weekday")
    timezone: str = "UTC"
    overlap: Literal["allow", "skip"] = Field("allow", description="skip: no job while the one before is live")
    stamp: str | None = Field(None, description="A key of the payload that gets the tick's own moment.")
    job: JobBody = Field(description="Without run_at, expires_at and traceparent, which belong to one moment.")


class EntryView(BaseModel):
    """An entry as it stands."""

    name: str
    schedule: str
    timezone: str
    overlap: Literal["allow", "skip"]
    stamp: str | None
    job: JobBody
    next_at: datetime
    last_at: datetime | None = Field(description="The tick that fired last.")
    paused: bool

    @classmethod
    def of(cls, seen: CronStatus) -> "EntryView":
        """From the SDK's answer."""
        skips = seen.job.get("dedupe") == f"cron:{seen.name}"
        stamp = seen.job.get("stamp")
        return cls(
            name=seen.name, schedule=seen.schedule, timezone=seen.timezone, overlap="skip" if skips else "allow",
            stamp=stamp if isinstance(stamp, str) else None, job=job_of(seen.job, skips), next_at=seen.next_at,
            last_at=seen.last_at, paused=seen.paused,
        )  # fmt: skip


class Entries(BaseModel):
    """The entries of a pool, by name."""

    entries: list[EntryView]


class NextAt(BaseModel):
    """When it fires next."""

    next_at: datetime


@router.get("")
async def list_cron(request: Request, caller: Producer, pool: Pool = None) -> Entries:
    """The entries of a pool."""
    found = await _cron(request, caller, pool, write=False).list()
    return Entries(entries=[EntryView.of(each) for each in found])


@router.get("/{name:path}")
async def show(request: Request, name: Name, caller: Producer, pool: Pool = None) -> EntryView:
    """One entry, in the form in which it was put."""
    for each in await _cron(request, caller, pool, write=False).list():
        if each.name == name:
            return EntryView.of(each)
    raise _missing(name)


@router.put("/{name:path}")
async def put(request: Request, name: Name, body: EntryBody, caller: Producer, pool: Pool = None) -> NextAt:
    """Make an entry, or change the one of that name. A tick that is due is not lost by it, and a pause lasts."""
    entry = CronEntry(
        name=name, schedule=body.schedule, timezone=body.timezone, overlap=body.overlap, stamp=body.stamp,
        job=body.job.job(),
    )  # fmt: skip
    return NextAt(next_at=await _cron(request, caller, pool).put(entry))


@router.delete("/{name:path}", status_code=204)
async def delete(request: Request, name: Name, caller: Producer, pool: Pool = None) -> None:
    """Take an entry away; jobs that it has made stay."""
    if not await _cron(request, caller, pool).delete(name):
        raise _missing(name)


@router.post("/{name:path}/pause", status_code=204)
async def pause(request: Request, name: Name, caller: Producer, pool: Pool = None) -> None:
    """Let it rest."""
    await _cron(request, caller, pool).pause(name)


@router.post("/{name:path}/resume", status_code=204)
async def resume(request: Request, name: Name, caller: Producer, pool: Pool = None) -> None:
    """End that; ticks that passed meanwhile are not made up for."""
    await _cron(request, caller, pool).pause(name, paused=False)


def job_of(kept: Mapping[str, JsonValue], skips: bool) -> JobBody:
    """What a tick enqueues, from the form in which the database keeps it."""
    told = {name: kept[name] for name in ("kind", "payload", "priority", "key", "key_limit", "max_tries", "max_losses")
            if name in kept}  # fmt: skip
    lists = {name: str(kept[name]).split(",") for name in ("tags", "tolerations") if kept.get(name)}
    timeout = kept.get("timeout_ms")
    return JobBody.model_validate({
        **told, **lists, "delay_seconds": kept.get("delay"), "expires_in_seconds": kept.get("ttl"),
        "timeout_seconds": timeout / 1000 if isinstance(timeout, int) else None,
        "dedupe": None if skips else kept.get("dedupe"),
    })  # fmt: skip


def _missing(name: str) -> Problem:
    return Problem(404, "not_found", f'there is no cron entry "{name}" in this pool: see GET /v1/cron')


def _cron(request: Request, caller: Identity, pool: str | None, *, write: bool = True) -> Cron:
    if write:
        caller.may_write()
    return Cron(services_of(request).database, caller.pool_or(pool))
