"""procrastinate: several workers in one process, each of which fetches one job after the other."""

import asyncio
import os
import sys

import uvloop
from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found] # only where benches run

from paceline_bench.workers import URL


async def noop(**_: object) -> None:
    """Do nothing."""


async def main(concurrency: int, workers: int) -> None:
    """Two connections for each worker, one to fetch and one to finish.

    Tried for 4 x 10, briefly and on a busy machine, jobs/s: 8 connections 805, 16 791, 44 570.
    """
    size = 2 * workers
    app = App(connector=PsycopgConnector(conninfo=os.environ[URL], min_size=size, max_size=size))
    app.task(name="noop")(noop)
    async with app.open_async():
        await asyncio.gather(
            *(
                app.run_worker_async(
                    concurrency=concurrency, listen_notify=False, delete_jobs="successful",
                    install_signal_handlers=False,
                )
                for _ in range(workers)
            )
        )  # fmt: skip


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:3])))
