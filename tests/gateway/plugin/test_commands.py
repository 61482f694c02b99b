"""The commands as a user runs them, with a gateway and a token and nothing else; and with the database the same."""

import json
import tarfile
from pathlib import Path

from gateway.conftest import Site
from gateway.plugin.conftest import Ask, Crew
from paceline.claims import Finished
from paceline.database import Database
from paceline.job import NewJob
from paceline.queue import Queue
from postgres.cli.process import run_cli, unpacked


async def test_jobs_are_listed_shown_and_cancelled(ask: Ask, queue: Queue, crew: Crew) -> None:
    first, second = [each.id for each in await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="thumb")])]
    listed = await ask("jobs", "list", "-p", "builds")
    assert (listed.code, [line.split()[:3] for line in listed.out.splitlines()[1:]]) == (
        0, [[str(second), "thumb", "ready"], [str(first), "mail", "ready"]],
    )  # fmt: skip
    of_namespace = await ask("jobs", "list", "-n", "ci", "--json")
    assert isinstance(of_namespace.json, list)
    assert len(of_namespace.json) == 2
    elsewhere = await ask("jobs", "list", "-n", "web")
    assert (elsewhere.code, "no group of namespace web" in elsewhere.err) == (1, True)
    shown = await ask("jobs", "show", first, "-o", "yaml")
    assert f"id: {first}\n" in shown.out
    assert shown.out.startswith("---\n")
    assert (await ask("jobs", "cancel", first)).out == f"job {first} is cancelled\n"
    again = await ask("jobs", "retry", first)
    assert (again.code, again.out) == (1, f"job {first} has ended already\n")


async def test_top_shows_who_is_busy(ask: Ask, queue: Queue, crew: Crew) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 3)
    await crew[0].step(2)
    told = await ask("top")
    lines = told.out.splitlines()
    assert (told.code, lines[0].split()[:4]) == (0, ["GROUP", "STATE", "READY", "RUNNING"])
    assert lines[1].split()[:4] == ["ci/builds", "active", "1", "2"]
    assert lines[3] == "2 runners, 2 of 4 slots busy"
    assert [line.split()[:4] for line in lines[5:]] == [
        ["r1", "ci/builds", "active", "2/2"], ["r2", "ci/builds", "active", "0/2"],
    ]  # fmt: skip
    assert "\x1b" not in told.out
    found = (await ask("top", "builds", "-n", "ci", "--json")).fields
    assert isinstance(found["runners"], list)
    assert len(found["runners"]) == 2
    nothing = await ask("top", "-n", "web")
    assert (nothing.code, nothing.out, "no group and no runner here" in nothing.err) == (0, "", True)
    assert (await ask("top", "-n", "web", "-A")).out.splitlines()[1].startswith("ci/builds"), "all, as kubectl has it"
    unknown = await ask("top", "bilds")
    assert (unknown.code, "(there are: ci/builds)" in unknown.err) == (1, True)


async def test_a_job_and_a_runner_are_explained(ask: Ask, queue: Queue, crew: Crew) -> None:
    odd = (await queue.enqueue(NewJob(kind="mail", tags=("gpu",)))).id
    told = await ask("explain", f"job/{odd}")
    assert told.code == 0
    assert told.out.startswith(f"job {odd} (mail) of pool builds is ready:\n- no runner could take it: ")
    runs = (await queue.enqueue("mail")).id
    await crew[0].step(1)
    told = await ask("explain", runs, "--json")
    assert told.fields["state"] == "running"
    runner = await ask("explain", "runner/r1", "-n", "ci")
    assert runner.out == (
        f"runner r1 of ci/builds is active, 1 of 2 slots busy:\n- it runs job {runs} (mail)"
        + runner.out.partition("(mail)")[2]
    )
    second = await ask("explain", "runner/r2")
    assert "- another runner leads its group, and only the leader claims\n" in second.out
    group = await ask("explain", "builds", "-n", "ci")
    assert "nothing was decided about ci/builds" in group.err
    assert "Unclaimable" in group.out
    for words in (("explain", "runner/r9"), ("explain", "job/999"), ("explain", "bilds")):
        ran = await ask(*words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)


async def test_a_runner_is_promoted(ask: Ask, crew: Crew) -> None:
    assert (await ask("promote", "r2", "--group", "builds", "-n", "ci")).out == "r2 leads ci/builds (epoch 2)\n"
    two = await ask("promote", "r2", "--group", "web/builds", "-n", "ci")
    assert (two.code, "two namespaces are given" in two.err) == (2, True)


async def test_what_a_jobs_attempts_wrote_is_followed_to_its_end(ask: Ask, queue: Queue, crew: Crew) -> None:
    job = (await queue.enqueue("mail")).id
    silent = await ask("logs", job)
    assert (silent.code, silent.out) == (0, "")
    assert f"job {job} is ready, and no attempt of it has written anything: --follow waits for more" in silent.err
    (claimed,) = (await crew[0].step(1)).jobs
    await crew[0].step(0, [Finished(claimed, None, output="hello\nworld\n")])
    told = await ask("logs", f"job/{job}", "-f")
    assert told.code == 0
    assert "Attempt 1 on r1\nhello\nworld\n-- done\n" in told.out
    assert told.err == f"job {job} is done\n"
    other = (await queue.enqueue("mail")).id
    await queue.cancel(other)
    assert (await ask("logs", other, "-f")).code == 3


async def test_the_queue_is_reported_without_what_jobs_carry(
    ask: Ask, queue: Queue, crew: Crew, tmp_path: Path
) -> None:
    await queue.enqueue("mail", {"to": "ann", "card": "4111111111111111"})
    for words, holds in (((), False), (("--payloads",), True)):
        file = tmp_path / f"report{len(words)}.tar.gz"
        told = await ask("report", "-A", "--file", file, "--json", *words)
        assert told.code == 0, told.err
        assert file.stat().st_mode & 0o077 == 0
        with tarfile.open(file) as archive:
            texts = unpacked(archive)
        assert any("4111111111111111" in text for text in texts.values()) is holds
        manifest = json.loads(texts["manifest.json"])
        assert {"queue/groups.json", "queue/runners.json", "queue/jobs/builds.json"} <= set(texts)
        assert [each["what"] for each in manifest["failed"]] == ["the cluster"]
        assert ("payloads" in [each["what"] for each in manifest["left_out"]]) is not holds
        assert {each["name"] for each in manifest["files"]} == set(texts) - {"manifest.json"}


async def test_without_any_way_every_one_is_named(tmp_path: Path) -> None:
    for words in (("jobs", "list"), ("top",), ("explain", "builds"), ("promote", "r1")):
        ran = await run_cli("", *words, KUBECONFIG=str(tmp_path / "none"), HOME=str(tmp_path))
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        for way in ("--database-url", "PACELINE_DATABASE_URL", "the kubeconfig"):
            assert way in ran.err
    no_token = await run_cli("", "jobs", "list", "--gateway", "http://127.0.0.1:1", PACELINE_TOKEN="")
    assert (no_token.code, "use --token-file, or set PACELINE_TOKEN" in no_token.err) == (1, True)
    bad = tmp_path / "token"
    bad.write_text("hunter2")
    ran = await run_cli("", "jobs", "list", "--gateway", "http://127.0.0.1:1", "--token-file", bad)
    assert (ran.code, "has no token" in ran.err, "hunter2" in ran.err) == (1, True, False)


async def test_a_database_wins_over_a_gateway_in_the_environment_and_a_flag_over_both(
    migrated: str, site: Site, queue: Queue
) -> None:
    await queue.enqueue("mail")
    words = ("jobs", "list", "-p", "builds")
    assert (await run_cli(migrated, *words, PACELINE_GATEWAY="http://127.0.0.1:1")).code == 0
    address, token = await site.start(), await site.tokens.create("ak")
    assert (await run_cli("", *words, PACELINE_GATEWAY=address, PACELINE_TOKEN=token)).code == 0
    away = "postgresql://me@127.0.0.1:1/none"
    assert (await run_cli(away, *words, "--gateway", address, PACELINE_TOKEN=token)).code == 0


async def test_nothing_is_in_colour_off_a_terminal_or_where_nobody_wants_it(
    migrated: str, queue: Queue, crew: Crew, database: Database
) -> None:
    await queue.enqueue("mail")
    for words in (("top",), ("explain", "runner/r1"), ("jobs", "list", "-p", "builds")):
        assert "\x1b" not in (await run_cli(migrated, *words)).out
    coloured = (await run_cli(migrated, "top", "--once", FORCE_COLOR="1", TERM="xterm")).out
    assert "\x1b[32m" in coloured
    assert "\x1b[32m" not in (await run_cli(migrated, "top", "--once", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")).out
