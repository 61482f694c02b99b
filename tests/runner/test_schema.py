"""A runner that is there before the tables are waits for them."""

from paceline.database import Database
from paceline.migrate import migrate
from paceline.queue import Queue
from runner.process import StartRunner, until


async def test_it_says_what_is_missing_and_begins_when_it_is_there(start: StartRunner, empty_database: str) -> None:
    runner = await start("r1", url=empty_database, wait=False)
    await runner.said("has no Paceline schema, or an older one: run: paceline migrate")
    assert (await runner.get("/health/ready"))[0] == 503
    await migrate(empty_database)
    await runner.said("registered as")
    async with await Database.open(empty_database) as database:
        queue = Queue(database, "builds")
        job = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, job.id, "done")
