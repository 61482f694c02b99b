"""`paceline enqueue`: one job with all its options, many from a file, and the result of one that is waited for."""

import asyncio
import json
from pathlib import Path

import pytest

from paceline.database import Database
from paceline.queue import Queue
from paceline.reading import Reader
from postgres.cli.process import Cli, serve


async def test_a_job_has_what_its_options_say(cli: Cli, database: Database) -> None:
    ran = await cli(
        "enqueue", "mail", '{"to": "ann"}', "-p", "builds", "--priority", 7, "--delay", "1h30m", "--expires-in", "2d",
        "--key", "ann", "--key-limit", 2, "--dedupe", "once", "--tag", "linux", "--tag", "gpu",
        "--toleration", "gpu=bad:NoClaim", "--max-tries", 3, "--timeout", "90s", "--json",
    )  # fmt: skip
    assert ran.code == 0
    assert ran.err == ""
    (job,) = await Reader(database).list_jobs("builds")
    assert ran.json == {"id": job.id, "created": True, "pool": "builds"}
    detail = await Reader(database).job_detail(job.id)
    assert detail is not None
    assert (detail.kind, detail.payload, detail.priority, detail.state) == ("mail", {"to": "ann"}, 7, "scheduled")
    assert detail.run_at is not None
    assert detail.expires_at is not None
    assert (detail.run_at - detail.enqueued_at).total_seconds() == 5400
    assert (detail.expires_at - detail.enqueued_at).total_seconds() == 2 * 86_400
    assert (detail.key, detail.dedupe, detail.max_tries, detail.timeout_ms) == ("ann", "once", 3, 90_000)
    assert (detail.tags, detail.tolerations) == (("gpu", "linux"), ("gpu=bad:NoClaim",))
    again = await cli("enqueue", "mail", "--dedupe", "once", PACELINE_POOL="builds")
    assert again.out == f"job {job.id} was in pool builds already\n"


async def test_a_payload_comes_from_stdin_or_a_file(cli: Cli, database: Database, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"from": "file"}')
    assert (await cli("enqueue", "mail", "-", stdin='{"from": "stdin"}')).code == 0
    assert (await cli("enqueue", "mail", "--payload-file", file)).code == 0
    assert (await cli("enqueue", "mail")).code == 0
    payloads = [
        seen.payload
        for job in await Reader(database).list_jobs("default")
        if (seen := await Reader(database).job_detail(job.id))
    ]
    assert payloads == [None, {"from": "file"}, {"from": "stdin"}]


async def test_lines_become_jobs_in_batches(cli: Cli, database: Database) -> None:
    lines = "\n".join(json.dumps({"n": n}) for n in range(2500)) + "\n\n"
    ran = await cli("enqueue", "bulk", "--lines", "-", "--json", stdin=lines)
    assert ran.json == {"lines": 2500, "created": 2500, "pool": "default"}
    assert await database.value("SELECT count(DISTINCT payload) FROM paceline.job") == 2500
    assert await database.value("SELECT count(DISTINCT enqueued_at) FROM paceline.job") == 3


async def test_a_bad_line_is_named_and_whole_batches_before_it_stay(
    cli: Cli, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text("1\n" * 1500 + "{oops\n" + "1\n" * 10)
    ran = await cli("enqueue", "bulk", "--lines", file)
    assert ran.code == 1
    assert "line 1501 of " in ran.err
    assert "the 1,000 jobs up to line 1000 are in: go on from line 1001" in ran.err
    assert await database.value("SELECT count(*) FROM paceline.job") == 1000


@pytest.mark.parametrize(("result", "code"), [('{"sent": true}', 0), (None, 3)])
async def test_waiting_brings_the_result_and_its_exit_code(
    cli: Cli, queue: Queue, result: str | None, code: int
) -> None:
    worker = asyncio.create_task(serve(queue, "mail", result))
    ran = await cli("enqueue", "mail", "-p", "builds", "--wait", "--max-tries", 1, "--json")
    job = await worker
    assert ran.code == code
    assert ran.json == {
        "id": job,
        "state": "done" if result else "dead",
        "result": {"sent": True} if result else None,
        "error": None if result else "it broke",
    }
    assert f"job {job} is in pool builds" in ran.err


async def test_waiting_ends_at_its_timeout_and_the_job_goes_on(cli: Cli, database: Database) -> None:
    ran = await cli("enqueue", "mail", "--wait", "--wait-timeout", "0.3s")
    assert ran.code == 4
    assert ran.out == ""
    assert "is still ready after 0.3 s: wait longer, or cancel it" in ran.err
    assert len(await Reader(database).list_jobs("default")) == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{to: ann}"], 1, """payload {to: ann} is not JSON"""),
        (["--priority", "11"], 1, "priority 11 is out of range (0 to 9, higher first)"),
        (["--delay", "5 minutes"], 2, "'--delay': \"5 minutes\" is no duration"),
        (["--run-at", "2026-01-01T00:00:00"], 2, "'--run-at': \"2026-01-01T00:00:00\" has no time zone"),
        (["--key-limit", "3"], 1, "key_limit is given without a key"),
        (["--toleration", "gpu:NoClam"], 1, 'has an unknown effect "NoClam"'),
        (["NaN"], 1, "payload cannot be written as JSON"),
        (["--lines", "-", "--wait"], 2, "it excludes PAYLOAD, --payload-file and --wait"),
        (["-p", "Not A Pool"], 1, 'pool "Not A Pool" is not a name'),
    ],
)
async def test_a_bad_input_is_named_with_the_fix_and_stores_nothing(
    cli: Cli, database: Database, words: list[str], code: int, message: str
) -> None:
    ran = await cli("enqueue", "mail", *words)
    assert (ran.code, ran.out) == (code, "")
    assert message in " ".join(ran.err.replace("│", " ").split())
    assert "Traceback" not in ran.err
    assert await database.value("SELECT count(*) FROM paceline.job") == 0
