"""A producer of some version that enqueues all the time, and the account of its jobs."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.operator.watcher import Watcher
from paceline.reading import Reader

PRODUCER = """\
import asyncio, sys
from paceline import NewJob, Queue
from paceline.database import Database

async def produce(url):
    told = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with await Database.open(url) as database:
        queue = Queue(database, "builds")
        while not told.done():
            made = await queue.enqueue_many([NewJob(kind="nap", payload=0.4, max_tries=1, max_losses=0)] * 3)
            print(*(each.id for each in made), sep="\\n", flush=True)
            await asyncio.wait([told], timeout=0.5)

asyncio.run(produce(sys.argv[1]))
"""
"""Each job may be tried once and lost never: whatever interrupts one makes a dead letter of it."""


@dataclass
class Load:
    """What was enqueued."""

    site: Watcher
    told: Path
    jobs: Sequence[int] = ()

    def so_far(self) -> list[int]:
        return [int(line) for line in self.told.read_text().split("\n")[:-1]]

    async def goes_on(self) -> None:
        """Wait until something that was enqueued from now on is done."""
        last = (await self._grown(0))[-1]
        newer = await self._grown(last)

        async def done() -> bool:
            return bool(await self.site.queue.database.value("SELECT 1 FROM paceline.history WHERE id = $1", newer[-1]))

        await self.site.until(done, "new jobs are done")

    async def _grown(self, last: int) -> list[int]:
        await self.site.until(lambda: self.so_far()[-1:] > [last], "the producer enqueues")
        return self.so_far()

    async def done_once(self) -> None:
        """Wait for the end of all, each of which was done by its first attempt."""
        database = self.site.queue.database

        async def over() -> bool:
            return not await database.value("SELECT count(*) FROM paceline.job")

        await self.site.until(over, "no job is left", 120)
        assert await Reader(database).list_dead() == [], "none is dead"
        done = await database.value("SELECT array_agg(id ORDER BY id) FROM paceline.history WHERE outcome = 'd'")
        assert done == sorted(self.jobs), "all that were enqueued are done, and no others"
        assert not await database.value("SELECT count(*) FROM paceline.attempt"), "no attempt but the one that did it"


@contextlib.asynccontextmanager
async def under_load(site: Watcher, environment: Mapping[str, str]) -> AsyncIterator[Load]:
    """Until the end of the block, by the Python code that the environment finds."""
    load = Load(site, site.scratch / "enqueued")
    with load.told.open("wb") as told:
        producer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PRODUCER, site.url, env=environment, stdin=asyncio.subprocess.PIPE, stdout=told
        )
    try:
        yield load
        assert producer.stdin is not None
        producer.stdin.close()
        assert await producer.wait() == 0, "the producer went on all the time"
        load.jobs = load.so_far()
    finally:
        if producer.returncode is None:
            producer.kill()
            await producer.wait()
