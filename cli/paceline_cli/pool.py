"""`paceline pool`: what is in the pools, and their limits."""

from typing import Annotated

import typer

from paceline_cli.options import DEFAULT_POOL, NamedPool, Pool, Watch, chosen_pool, limit, whole_limit
from paceline_cli.output import number
from paceline_cli.run import Session, command

app = typer.Typer(no_args_is_help=True, help="Pools: what is in them, their limits, and who may use them.")

Rate = Annotated[
    float | None, typer.Option(parser=limit, metavar="N|none", help="Start at most so many jobs per second.")
]
Burst = Annotated[
    float | None,
    typer.Option(
        min=1, metavar="N", help="How many may start at once after a quiet time; the rate (at least 1) if not given."
    ),
]
Create = Annotated[bool, typer.Option("--create", help="Make the pool if it is not there yet.")]


def burst_for(rate: float | None, burst: float | None) -> float | None:
    """A bucket holds at least one permit, or nothing would ever start."""
    return burst if burst is not None or rate is None else max(1.0, rate)


@command(app, "list", source=True)
async def list_pools(session: Session, again: Watch = False) -> None:
    """List the pools that the login may read, and how much is in them."""
    from paceline_cli.pool_view import POOLS
    from paceline_cli.waiting import watch

    async with session.source() as source:

        async def show() -> None:
            found = await source.list_pools()
            session.out.rows(found, POOLS, none="no pools yet: a pool begins with its first job or RunnerGroup")
            if any(pool.capped for pool in found):
                session.out.note("a count of 10,000 means: at least so many")

        await watch(session, show, again)


@command(app, "show", source=True)
async def show_pool(session: Session, named: NamedPool = None, pool: Pool = DEFAULT_POOL, again: Watch = False) -> None:
    """Show a pool: its limits, its runners, and jobs that no runner could claim, with the reason."""
    from paceline.admin import pool_named
    from paceline_cli.pool_view import as_json, draw_pool
    from paceline_cli.waiting import watch

    pool = chosen_pool(named, pool)
    async with session.source() as source:

        async def show() -> None:
            seen = pool_named(await source.list_pools(), pool)
            runners, stuck = await source.list_runners(pool), await source.unclaimable(pool)
            if session.out.json:
                session.out.write_json(as_json(seen, runners, stuck))
            else:
                draw_pool(session.out, seen, runners, stuck, await source.now())

        await watch(session, show, again)


@command(app, "set", source=True)
async def set_limits(
    session: Session,
    named: NamedPool = None,
    pool: Pool = DEFAULT_POOL,
    max_depth: Annotated[
        int | None,
        typer.Option(parser=whole_limit, metavar="N|none", help="Refuse to enqueue when so many jobs are waiting."),
    ] = None,
    rate: Rate = None,
    burst: Burst = None,
    create: Create = False,
) -> None:
    """Set limits of a pool; "none" removes one, and what is not given stays.

    - `paceline pool set builds --max-depth 100000 --rate 50 --burst 200`
    - `paceline pool set builds --rate none`
    """
    from paceline.admin import pool_named

    pool = chosen_pool(named, pool)
    if max_depth is None and rate is None and burst is None:
        raise typer.BadParameter(
            "nothing is to be set (give --max-depth, --rate or --burst)", param_hint="'--max-depth'"
        )
    if burst is not None and rate is not None and rate < 0:
        raise typer.BadParameter("it goes with the rate (leave it out)", param_hint="'--burst'")
    async with session.source() as source:
        if not create:
            seen = pool_named(await source.list_pools(), pool)
            if burst is not None and rate is None and seen.rate is None:
                raise typer.BadParameter(f"pool {pool} has no rate (give --rate too)", param_hint="'--burst'")
        await source.set_pool(pool, max_depth=max_depth, rate=rate, burst=burst_for(rate, burst))
        seen = pool_named(await source.list_pools(), pool)
    session.out.tell(
        {"pool": pool, "max_depth": seen.max_depth, "rate": seen.rate, "burst": seen.burst},
        f"pool {pool} has max-depth {number(seen.max_depth)}, rate {number(seen.rate)}, burst {number(seen.burst)}",
    )


@command(app, "kind-rate", source=True)
async def set_kind_rate(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind of jobs that is limited.")],
    rate: Annotated[float, typer.Argument(parser=limit, metavar="RATE|none", help="At most so many jobs per second.")],
    burst: Burst = None,
    pool: Pool = DEFAULT_POOL,
    create: Create = False,
) -> None:
    """Limit how many jobs of a kind start per second, over all runners of the pool."""
    from paceline.admin import pool_named

    burst = burst_for(rate, burst)
    async with session.source() as source:
        if not create:
            pool_named(await source.list_pools(), pool)
        await source.set_kind(pool, kind, rate, burst)
    told = None if rate < 0 else rate
    session.out.tell(
        {"pool": pool, "kind": kind, "rate": told, "burst": None if told is None else burst},
        f"kind {kind} of pool {pool} has "
        + ("no rate limit" if told is None else f"rate {number(rate)}, burst {number(burst)}"),
    )


@command(app, "key", source=True)
async def set_key(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The concurrency key, as enqueue --key names it.")],
    most: Annotated[
        int | None,
        typer.Option(
            "--limit", parser=whole_limit, metavar="N|none", help="Run at most so many jobs of the key at once."
        ),
    ] = None,
    rate: Rate = None,
    burst: Burst = None,
    pool: Pool = DEFAULT_POOL,
    create: Create = False,
) -> None:
    """Set both limits of a concurrency key: how many run at once, and how many start per second.

    What is not given, or "none", is no limit afterwards.
    """
    from paceline.admin import pool_named

    if most is None and rate is None:
        raise typer.BadParameter("give --limit, --rate or both", param_hint="'--limit'")
    running, per_second = (value if value is not None and value > 0 else None for value in (most, rate))
    async with session.source() as source:
        if not create:
            pool_named(await source.list_pools(), pool)
        burst = burst_for(per_second, burst if per_second else None)
        await source.set_key(pool, key, None if running is None else int(running), per_second, burst)
    session.out.tell(
        {"pool": pool, "key": key, "limit": running, "rate": per_second, "burst": burst},
        f"key {key} of pool {pool} has limit {number(running)}, rate {number(per_second)}",
    )


@command(app, "pause", source=True)
async def pause(session: Session, named: NamedPool = None, pool: Pool = DEFAULT_POOL) -> None:
    """Let nobody claim from a pool. What runs goes on, and jobs can be enqueued."""
    await _pause(session, chosen_pool(named, pool), True)


@command(app, "resume", source=True)
async def resume(session: Session, named: NamedPool = None, pool: Pool = DEFAULT_POOL) -> None:
    """End the pause of a pool."""
    await _pause(session, chosen_pool(named, pool), False)


async def _pause(session: Session, pool: str, paused: bool) -> None:
    from paceline.admin import pool_named

    async with session.source() as source:
        pool_named(await source.list_pools(), pool)
        await source.pause_pool(pool, paused)
    session.out.tell({"pool": pool, "paused": paused}, f"pool {pool} is {'paused' if paused else 'active'}")


@command(app, "health", source=True)
async def health(session: Session, again: Watch = False) -> None:
    """Show how well the database is: who holds vacuum back, and whether the housekeeping is done."""
    from paceline_cli.pool_view import draw_health
    from paceline_cli.waiting import watch

    async with session.source() as source:

        async def show() -> None:
            seen = await source.health()
            if session.out.json:
                session.out.write_json(seen)
            else:
                draw_health(session.out, seen, await source.now())

        await watch(session, show, again)
