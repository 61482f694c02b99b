"""One part of a bench in a cluster of its own."""

import sys
from collections.abc import Awaitable, Callable

from paceline.testing import PostgresServer
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.site import Site, site
from paceline_bench.templates import Templates
from paceline_dev.binaries import Binaries
from paceline_dev.errors import DevError

On = Callable[[Site], Awaitable[list[Measurement]]]


async def on_site(binaries: Binaries, server: PostgresServer, templates: Templates, on: On) -> list[Measurement]:
    """What goes wrong with one cluster costs its own figures only; its words may hold a path, so they go to stderr."""
    try:
        async with site(binaries, server, templates) as place:
            return await on(place)
    except DevError as error:
        sys.stderr.write(f"{error}\n")
        raise NotMeasuredError("its cluster did not work (what it said is on stderr)") from None
