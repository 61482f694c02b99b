"""How pools and the health of their database are drawn."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from paceline.seen import Health, Holder, PoolSeen, RunnerSeen, Unclaimable
from paceline_cli.output import Column, Output, ago, number, plain, span

TICK_LATE: Final = 10.0
"""Seconds; housekeeping is due every second, and a busy moment is no news."""

POOLS: Final[list[Column[PoolSeen]]] = [
    Column("pool", lambda pool: pool.name, flex=True),
    Column("state", lambda pool: "paused" if pool.paused else "active"),
    Column("runners", lambda pool: pool.runners, right=True),
    Column("ready", lambda pool: f"{pool.ready:,}", right=True),
    Column("running", lambda pool: f"{pool.running:,}", right=True),
    Column("scheduled", lambda pool: f"{pool.scheduled:,}", right=True),
    Column("blocked", lambda pool: f"{pool.blocked:,}", right=True),
    Column("dead", lambda pool: f"{pool.dead:,}", right=True),
    Column("unclaimable", lambda pool: f"{pool.unclaimable:,}", right=True, wide=True),
    Column("groups", lambda pool: pool.groups, right=True, wide=True),
    Column("namespace", lambda pool: pool.namespace, wide=True),
    Column("max depth", lambda pool: number(pool.max_depth), right=True, wide=True),
    Column("rate", lambda pool: number(pool.rate), right=True, wide=True),
    Column("burst", lambda pool: number(pool.burst), right=True, wide=True),
]
UNCLAIMABLE: Final[list[Column[Unclaimable]]] = [
    Column("kind", lambda lane: lane.kind),
    Column("jobs", lambda lane: f"{lane.jobs:,}", right=True),
    Column("reason", lambda lane: lane.reason),
    Column("tags", lambda lane: lane.tags, wide=True),
    Column("tolerations", lambda lane: lane.tolerations, wide=True),
    Column("detail", lambda lane: lane.detail, fold=True),
]
HOLDERS: Final[list[Column[Holder]]] = [
    Column("what", lambda holder: holder.holder),
    Column("name", lambda holder: holder.name, flex=True),
    Column("login", lambda holder: holder.login),
    Column("application", lambda holder: holder.application, flex=True),
    Column("state", lambda holder: holder.state),
    Column("for", lambda holder: None if holder.age_seconds is None else span(holder.age_seconds), right=True),
    Column("transactions", lambda holder: holder.transactions, right=True),
]


def as_json(pool: PoolSeen, runners: Sequence[RunnerSeen], stuck: Sequence[Unclaimable]) -> dict[str, object]:
    """A pool with all that is known of it; its own `runners` and `unclaimable` are counts."""
    told = plain(pool)
    assert isinstance(told, dict)
    return {**told, "runner_list": runners, "unclaimable_lanes": stuck}


def draw_pool(
    out: Output, pool: PoolSeen, runners: Sequence[RunnerSeen], stuck: Sequence[Unclaimable], now: datetime
) -> None:
    """A pool for people: the facts, then who serves it, then what nobody can serve."""
    waiting = f"{pool.ready:,} ready, {pool.running:,} running, {pool.scheduled:,} scheduled, {pool.blocked:,} blocked"
    rate = "none" if pool.rate is None else f"{number(pool.rate)} per second, burst {number(pool.burst)}"
    out.facts([
        ("Pool", pool.name), ("State", "paused" if pool.paused else "active"), ("Namespace", pool.namespace),
        ("Jobs", waiting + (" (10,000 means: at least)" if pool.capped else "")), ("Dead letters", f"{pool.dead:,}"),
        ("Max depth", number(pool.max_depth)), ("Rate", rate), ("Groups", pool.groups or None),
        ("Runners", len(runners) or "none"),
    ])  # fmt: skip
    if runners:
        out.heading("Runners")
        out.draw_table(runners, _runner_columns(now))
    if stuck:
        out.heading("Unclaimable: ready jobs that no runner could take")
        out.draw_table(stuck, UNCLAIMABLE)


def draw_health(out: Output, health: Health, now: datetime) -> None:
    """The database for people; what needs somebody is said in words."""
    late = health.tick_overdue_seconds
    if late is None:
        tick = "never done: no runner, gateway or operator has been here yet"
    elif late > TICK_LATE:
        tick = f"overdue for {span(late)}: start a runner, a gateway or the operator"
    else:
        tick = "on time"
    counts = (health.live_tuples, health.dead_tuples)
    out.facts([
        ("Housekeeping", tick),
        ("Vacuum", "held back, see below" if health.holders else "nobody holds it back"),
        ("Last vacuum", ago(health.last_vacuum, now) if health.last_vacuum else "never"),
        ("Job rows", None if None in counts else f"{counts[0]:,} live, {counts[1]:,} dead"),
        ("History", f"has its place for {health.partition_days:.1f} days"),
        ("History late", f"{health.history_late:,} rows wait for their partition" if health.history_late else None),
    ])  # fmt: skip
    if health.holders:
        out.heading("Who holds vacuum back: end the transaction, or drop the slot")
        out.draw_table(health.holders, HOLDERS)


def _runner_columns(now: datetime) -> list[Column[RunnerSeen]]:
    return [
        Column("runner", lambda runner: runner.id, flex=True),
        Column("state", lambda runner: runner.state),
        Column("busy", lambda runner: f"{runner.instances_claimed}/{runner.slots}", right=True),
        Column("leader", lambda runner: "yes" if runner.leader else ""),
        Column("heartbeat", lambda runner: ago(runner.last_heartbeat, now)),
        Column(
            "group",
            lambda runner: f"{runner.namespace}/{runner.group}" if runner.namespace else runner.group,
            flex=True,
        ),
        Column("taints", lambda runner: runner.taints, flex=True),
        Column("started", lambda runner: ago(runner.started_at, now), wide=True),
        Column("host", lambda runner: runner.hostname, wide=True),
        Column("revision", lambda runner: runner.revision, wide=True),
        Column("tags", lambda runner: runner.tags, wide=True),
        Column("kinds", lambda runner: runner.kinds, wide=True),
    ]
