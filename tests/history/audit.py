"""The database's own record of a run: every change of a job, a runner, a taint, a leader or a bucket, in commit order.

How the order is had. Row triggers write each change into `audit.event` while the transaction runs. A deferred
constraint trigger runs at its end: it takes one advisory lock for the whole database and, with it in hand, a number.
PostgreSQL gives such a lock back only after the transaction has become visible to others.

Why it is sound. Two transactions cannot have the lock together, so the one with the lower number was visible before the
other had drawn its own: numbers are in the order of the commits. And whoever saw something committed draws its own
number later than the one whose work it saw. So "after the commit that drained it" is a comparison of two numbers, also
for transactions that held no lock in common. Within a transaction the events' own numbers are in the order of writing.

The lock makes commits stand in line, and nothing else: nobody who holds it waits for anything, so there is no deadlock
that would not be there without it, and the work before the commit overlaps as it always does.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

from history.events import (
    Charged,
    Event,
    History,
    JobChanged,
    JobEnded,
    JobRow,
    Lane,
    Led,
    Order,
    RunnerChanged,
    Tainted,
)

SCHEMA = (Path(__file__).parent / "audit.sql").read_text()
EVENTS = """
    SELECT c.n AS place, e.n, extract(epoch FROM e.at)::float8 AS at, extract(epoch FROM c.at)::float8 AS committed,
           e.what, e.old, e.new
      FROM audit.event e JOIN audit.commit c USING (xid) ORDER BY c.n, e.n
"""
COLUMNS = JobRow.__slots__


async def install(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Begin to write down; what happened before is not seen."""
    await connection.execute(SCHEMA)


async def read(connection: "asyncpg.Connection[asyncpg.Record]") -> History:
    """What the database knows of the run, once it is over."""
    history = History(events=[])
    async with connection.transaction():
        async for row in connection.cursor(EVENTS, prefetch=2000):
            history.events.append(_event(row))
    pools = await connection.fetch("SELECT id, name, leader_group, rate, burst FROM paceline.pool")
    names = {row["id"]: row["name"] for row in pools}
    history.pools = {row["name"]: row["id"] for row in pools}
    history.leads = {row["name"]: row["leader_group"] for row in pools if row["leader_group"] is not None}
    for row in await connection.fetch("SELECT id, pool, kind, tolerations FROM paceline.lane"):
        history.lanes[row["id"]] = Lane(names[row["pool"]], row["kind"], tuple(row["tolerations"]))
    keys = await connection.fetch("SELECT id, max_running, rate, burst FROM paceline.key")
    history.key_limits = {row["id"]: row["max_running"] for row in keys if row["max_running"] is not None}
    kinds = await connection.fetch("SELECT id, rate, burst FROM paceline.kind")
    named = await connection.fetch("SELECT id, name FROM paceline.runner")
    history.runners = {row["id"]: row["name"] for row in named}
    for table, rows in (("pool", pools), ("kind", kinds), ("key", keys)):
        history.rates |= {(table, row["id"]): (row["rate"], row["burst"]) for row in rows if row["rate"] is not None}
    return history


def _event(record: asyncpg.Record) -> Event:
    order: Order = (record["place"], record["n"])
    old = json.loads(record["old"]) if record["old"] else None
    new = json.loads(record["new"]) if record["new"] else None
    row = new or old
    assert row is not None
    match record["what"]:
        case "job":
            return JobChanged(
                order=order, at=record["at"], committed=record["committed"], job=row["id"], old=_job(old), new=_job(new)
            )
        case "history" | "dead" as place:
            return JobEnded(
                order=order, job=row["id"], place=place if new else f"{place} no more",
                outcome=row["outcome"] if place == "history" else row["cause"], fence=row["fence"],
                incarnation=row.get("incarnation"), tries=row["tries"], losses=row["losses"],
            )  # fmt: skip
        case "incarnation":
            return RunnerChanged(
                order=order, committed=record["committed"], incarnation=row["id"], runner=row["runner"],
                old=old and old["state"], new=row["state"], cause=row.get("cause"),
                lease_until=_seconds(row["lease_until"]), hostname=row.get("hostname", ""),
            )  # fmt: skip
        case "taint":
            return Tainted(
                order=order, runner=row["runner"], source=row["source"], key=row["key"], effect=row["effect"],
                on=new is not None,
            )  # fmt: skip
        case "leader":
            return Led(order=order, group=row["grp"], incarnation=row.get("incarnation"), epoch=row["epoch"])
        case bucket:
            return Charged(order=order, bucket=(bucket, row["id"]), at=_seconds(row["refilled"]))


def _job(row: dict[str, Any] | None) -> JobRow | None:
    return None if row is None else JobRow(**{name: row[name] for name in COLUMNS if name in row})


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
