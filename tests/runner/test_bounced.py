"""Commands and runners whose database is behind PgBouncer in transaction mode, each a process that nobody told so."""

from pathlib import Path

from paceline.queue import Queue
from postgres.cli.process import run_cli
from runner.process import StartRunner, eventually, until
from support.bounced import postgres  # noqa: F401 -- it is for the fixtures
from support.bouncer import BouncedServer

WAITERS = "SELECT count(*) FROM paceline.waiter WHERE until > clock_timestamp()"


async def test_a_database_is_migrated_and_a_job_enqueued(empty_database: str) -> None:
    for words in (("--dry-run",), (), ()):
        ran = await run_cli(empty_database, "migrate", *words)
        assert ran.code == 0, ran.err
    ran = await run_cli(empty_database, "enqueue", "mail", "--pool", "builds", "--json")
    assert ran.code == 0, ran.err
    shown = await run_cli(empty_database, "jobs", "show", str(ran.fields["id"]), "--json")
    assert shown.fields["state"] == "ready"


async def test_a_runner_finds_out_that_it_hears_nothing_and_looks_for_work(
    queue: Queue, start: StartRunner, scratch: Path
) -> None:
    runner = await start("r1")
    await runner.said("listening on")
    for _ in range(3):
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
    assert await queue.database.value(WAITERS) == 0, "nobody counts on a wake-up that does not come"


async def test_a_runner_with_a_way_past_it_is_woken(
    queue: Queue, start: StartRunner, bouncer: BouncedServer, migrated: str
) -> None:
    runner = await start("r1", PACELINE_LISTEN_URL=bouncer.direct(migrated))
    await runner.said("listening on")
    for _ in range(3):
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
    await eventually(lambda: queue.database.value(f"{WAITERS} HAVING count(*) = 1"), "it counts on a wake-up")
