"""The parts of a bench, each in a cluster of its own."""

import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from paceline.testing import PostgresServer
from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement, Missing
from paceline_bench.parts import take
from paceline_bench.server import bench_server, server_facts
from paceline_bench.site import Site, site
from paceline_bench.templates import Templates
from paceline_dev.binaries import Binaries, find_binaries
from paceline_dev.errors import DevError
from paceline_dev.gobuild import KUBERNETES_VERSION

On = Callable[[Site], Awaitable[list[Measurement]]]
Part = tuple[tuple[str, ...], On]
"""The names of its figures, and how they are taken."""


async def on_sites(run: Run, parts: Iterable[Part]) -> AsyncIterator[Measurement | Missing]:
    """One after the other, with one database server for all of them."""
    binaries = find_binaries(run.report)
    run.versions["control_plane"] = KUBERNETES_VERSION
    with bench_server() as server:
        run.versions["postgres"], settings = await server_facts(server)
        run.settings.update(settings)
        async with Templates(server) as templates:
            for names, on in parts:
                for found in await take(run, names, functools.partial(on_site, binaries, server, templates, on)):
                    yield found


async def on_site(binaries: Binaries, server: PostgresServer, templates: Templates, on: On) -> list[Measurement]:
    """What goes wrong with one cluster costs its own figures only; its words may hold a path, so they go to stderr."""
    try:
        async with site(binaries, server, templates) as place:
            return await on(place)
    except DevError as error:
        sys.stderr.write(f"{error}\n")
        raise NotMeasuredError("its cluster did not work (what it said is on stderr)") from None
