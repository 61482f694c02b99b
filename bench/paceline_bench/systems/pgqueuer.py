"""PgQueuer, with the table settings that its manual recommends (`pgq autovac`)."""

from pgqueuer import AsyncpgDriver, Queries  # type: ignore[import-not-found] # only where benches run

from paceline_bench.server import connected
from paceline_bench.systems import BODY, System, chunks


async def prepare(url: str, jobs: int) -> None:
    """Install and enqueue. Its tables stay durable: everybody's are."""
    async with connected(url) as connection:
        queries = Queries(AsyncpgDriver(connection))
        await queries.install()
        await queries.optimize_autovacuum()
        for size in chunks(jobs):
            await queries.enqueue(["noop"] * size, [BODY.encode()] * size, [0] * size)


SYSTEM = System(
    name="pgqueuer",
    table="pgqueuer",
    prepare=prepare,
    done="SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
)
