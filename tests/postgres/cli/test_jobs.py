"""`paceline jobs`: what people see of jobs, and what they can do with one."""

import asyncio
import signal
import sys
from datetime import timedelta

from paceline.claims import Failed, Incarnation
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from postgres.cli.process import Cli, environment
from support.pg import Register


async def test_a_list_shows_live_jobs_newest_first_and_by_filter(cli: Cli, queue: Queue) -> None:
    mail, later, other = await queue.enqueue_many(
        [NewJob(kind="mail"), NewJob(kind="mail", delay=timedelta(hours=3)), NewJob(kind="build", tags=("linux",))]
    )
    ran = await cli("jobs", "list", "-p", "builds")
    head, *lines = ran.out.splitlines()
    assert head.split() == ["ID", "KIND", "STATE", "PRIO", "TRIES", "ENQUEUED", "SINCE", "RUNNER"]
    assert [int(line.split()[0]) for line in lines] == [other.id, later.id, mail.id]
    assert "in 2h59m" in lines[1]
    for words, wanted in (
        (["--state", "scheduled"], [later.id]),
        (["--kind", "build"], [other.id]),
        (["--limit", "2"], [other.id, later.id]),
    ):
        answer = (await cli("jobs", "list", "-p", "builds", "--json", *words)).json
        assert isinstance(answer, list)
        assert [each["id"] for each in answer if isinstance(each, dict)] == wanted
    wide = (await cli("jobs", "list", "--all-pools", "-o", "wide")).out
    assert "linux" in wide
    assert wide.startswith("POOL")


async def test_more_than_a_page_is_listed_when_asked_for(cli: Cli, queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 2300)
    answer = (await cli("jobs", "list", "-p", "builds", "--limit", 2250, "--json")).json
    assert isinstance(answer, list)
    assert len({each["id"] for each in answer if isinstance(each, dict)}) == 2250


async def test_a_job_is_shown_with_its_attempts_and_times(cli: Cli, queue: Queue, register: Register) -> None:
    made = await queue.enqueue(NewJob(kind="mail", payload={"to": "ann"}))
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "no route\nto host", retry_in=timedelta(minutes=5))])
    shown = (await cli("jobs", "show", made.id)).out
    assert 'Payload    {"to": "ann"}' in shown
    assert "Tries      1 of 5" in shown
    assert "in 4m" in shown
    assert "no route" in shown.partition("Attempts")[2]
    told = (await cli("jobs", "show", made.id, "--json")).fields
    assert told["payload"] == {"to": "ann"}
    attempts = told["attempts"]
    assert isinstance(attempts, list)
    assert isinstance(attempts[0], dict)
    assert (attempts[0]["outcome"], attempts[0]["error"]) == ("failed", "no route\nto host")
    assert str(attempts[0]["ended_at"]).startswith("20")


async def test_cancel_says_what_became_of_each_job(cli: Cli, queue: Queue, register: Register) -> None:
    waiting, running = await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="build")])
    runner: Incarnation = await register(kinds=("build",))
    assert len((await runner.step(1)).jobs) == 1
    first = await cli("jobs", "cancel", waiting.id, running.id)
    assert first.code == 0
    assert first.out == f"job {waiting.id} is cancelled\njob {running.id} runs, and its handler is told\n"
    second = await cli("jobs", "cancel", waiting.id, 424242, "--json")
    assert second.code == 1
    assert second.json == [{"id": waiting.id, "answer": "finished"}, {"id": 424242, "answer": "unknown"}]


async def test_retry_says_what_became_of_each_job(cli: Cli, queue: Queue, register: Register) -> None:
    later = await queue.enqueue(NewJob(kind="mail", delay=timedelta(hours=1)))
    ran = await cli("jobs", "retry", later.id)
    assert (ran.code, ran.out) == (0, f"job {later.id} is tried again\n")
    ran = await cli("jobs", "retry", later.id, 10**9, "--json")
    assert ran.code == 1
    assert ran.json == [{"id": later.id, "answer": "waiting"}, {"id": 10**9, "answer": "unknown"}]


async def test_wait_ends_with_the_outcomes_exit_code(cli: Cli, queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    late = await cli("jobs", "wait", job, "--timeout", "0.2s")
    assert late.code == 4
    assert "is still ready" in late.err
    await queue.cancel(job)
    ended = await cli("jobs", "wait", job)
    assert (ended.code, ended.out) == (3, f"job {job} is cancelled\n")


async def test_an_unknown_job_is_an_error_and_not_a_long_wait(cli: Cli) -> None:
    for command in ("show", "wait"):
        ran = await cli("jobs", command, 424242)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("error: there is no job 424242 that this login may read")


async def test_watch_draws_anew_and_ctrl_c_is_its_normal_end(migrated: str, queue: Queue) -> None:
    await queue.enqueue("mail")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_cli", "jobs", "list", "-p", "builds", "--watch", env=environment(migrated),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert (await process.stdout.readline()).startswith(b"ID")
    await queue.enqueue("build")
    while b"build" not in (line := await process.stdout.readline()):
        assert line
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")


async def test_a_reader_that_leaves_early_gets_no_traceback(migrated: str, queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind="k" * 128)] * 1000)
    assert len(await Reader(queue.database).list_jobs("builds", limit=1000)) == 1000
    for form in ("json", "wide"):
        pipe = f'"{sys.executable}" -m paceline_cli jobs list -p builds --limit 1000 -o {form} | head -n 1'
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", f'{pipe}; echo "${{PIPESTATUS[0]}}"', env=environment(migrated),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert err == b""
        assert out.splitlines()[-1] == b"141"
