"""200 groups at zero in one database: what they cost while nobody has work for them."""

from dataclasses import dataclass
from typing import Final

from paceline_bench.at_rest import rest
from paceline_bench.counted import counted
from paceline_bench.measure import Measurement
from paceline_bench.operator_command import operator
from paceline_bench.scaled import block
from paceline_bench.site import Site

WHAT: Final = "200_groups"
FIGURES: Final = tuple(
    f"{name}_{WHAT}" for name in ("rss", "cpu_idle", "queries_idle", "connections", "reconcile_p50", "reconcile_p99")
)
PATIENCE: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many, and how long."""

    groups: int
    quiet: float
    """Seconds without a write before it counts as idle."""
    seconds: float


FULL: Final = Size(groups=200, quiet=20, seconds=60)
QUICK: Final = Size(groups=200, quiet=8, seconds=15)


async def sleep(site: Site, size: Size) -> list[Measurement]:
    """Each has a pool of its own; the operator listens for all of them."""
    async with counted(site.url) as way:
        await site.trust(way.url)
        async with operator(site) as running:
            for number in range(size.groups):
                await site.add_group(f"group-{number:03}", 0, scheduled=False, autoscaling=block(10))
            await site.settled(size.groups, 0, PATIENCE)
            await site.quiet(size.quiet)
            return await rest(running, way, size.seconds, WHAT)
