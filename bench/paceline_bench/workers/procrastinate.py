"""procrastinate: several workers in one process, each of which fetches one job after the other."""

import asyncio
import os
import sys

import uvloop

from paceline_bench.systems.procrastinate import application
from paceline_bench.workers import URL, told


async def main(concurrency: int, workers: int, listen: int = 0) -> None:
    """Two connections for each worker, one to fetch and one to finish.

    Tried for 4 x 10, briefly and on a busy machine, jobs/s: 8 connections 805, 16 791, 44 570.
    """
    app = application(os.environ[URL], 2 * workers + listen)
    app.task(name="noop")(told.noop_keyword)
    app.task(name="stamp")(told.stamp_keyword)
    async with app.open_async():
        await asyncio.gather(
            told.tell(),
            *(
                app.run_worker_async(
                    concurrency=concurrency, listen_notify=bool(listen), delete_jobs="successful",
                    install_signal_handlers=False,
                )
                for _ in range(workers)
            )
        )  # fmt: skip


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:4])))
