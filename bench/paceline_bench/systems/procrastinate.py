"""procrastinate. Its workers delete what succeeded, so that the live table is what is left to do."""

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found] # only where benches run

from paceline_bench.systems import PAYLOAD, System, chunks


async def prepare(url: str, jobs: int) -> None:
    """Apply the schema and defer."""
    app = App(connector=PsycopgConnector(conninfo=url, min_size=1, max_size=1))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        task = app.configure_task("noop")
        for size in chunks(jobs):
            await task.batch_defer_async(*[PAYLOAD] * size)


SYSTEM = System(name="procrastinate", table="procrastinate_jobs", prepare=prepare)
