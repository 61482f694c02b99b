"""Every release goes on working on the schema of today."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from paceline.database import Database
from paceline.migrate import migrate, migrations
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline_dev.group import runner_group
from paceline_dev.releases import RELEASES
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.revision import revision_of
from runner.process import there, until
from support.pg import one_server
from support.released import Release, unpacked

pytestmark = pytest.mark.timeout(300)
APPS = Path(__file__).parents[1] / "runner" / "apps"
REVISION = """\
import json, sys
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.revision import revision_of
print(revision_of(RunnerGroup.model_validate(json.loads(sys.argv[1]))))
"""
GROUP = runner_group("ci", "builds", 3, "shop", {
    "slots": 4, "tags": ["linux", "docker"], "drain": {"timeoutSeconds": 60},
    "database": {"secretRef": {"name": "db"}, "runnerSecretRef": {"name": "runners"}},
})  # fmt: skip
NAME = "730a785cb9"
"""The revision of that group, on pods that are out there."""
DIGESTS = "import json; from paceline.migrate import migrations; print(json.dumps([m.digest for m in migrations()]))"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One server is enough here."""
    return one_server(tmp_path_factory)


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Each of them."""
    return unpacked(tmp_path_factory, request.param)


async def test_it_is_the_version_that_it_is_said_to_be(release: Release) -> None:
    assert release.run("--version") == f"paceline {release.version}\n"


async def test_its_migrations_are_part_of_todays_as_they_were(release: Release) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DIGESTS, env=release.environment(), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    released = json.loads(told)
    assert len(released) >= 3
    assert [each.digest for each in migrations()][: len(released)] == released


@pytest.mark.parametrize("made_by", ["release", "today"])
async def test_its_producer_and_its_runner_work_while_the_schema_becomes_todays(
    release: Release, empty_database: str, tmp_path: Path, made_by: str
) -> None:
    url = {"PACELINE_DATABASE_URL": empty_database, "PACELINE_POOL": "builds"}
    if made_by == "release":
        release.run("migrate", **url)
    else:
        await migrate(empty_database)
    environment = release.environment(
        APPS, **url, PACELINE_APP="shop:jobs", SCRATCH=str(tmp_path), PACELINE_NODE_ID="old", PACELINE_SLOTS="2",
        PACELINE_LISTEN="127.0.0.1:0",
    )  # fmt: skip
    with (tmp_path / "runner.log").open("wb") as log:
        runner = await asyncio.create_subprocess_exec(*release.command("run"), env=environment, stderr=log)
    try:
        held = json.loads(release.run("enqueue", "wait", '"go"', "--json", **url))
        await there(tmp_path / "begun")
        await migrate(empty_database)
        sent = json.loads(release.run("enqueue", "mail", '{"to": "ann"}', "--wait", "--json", **url))
        assert sent["state"] == "done", sent
        (tmp_path / "go").touch()
        async with await Database.open(empty_database) as database:
            queue = Queue(database, "builds")
            todays = await queue.enqueue("mail", {"to": "bob"})
            assert (await until(queue, todays.id, "done")).runner == "old"
            await until(queue, held["id"], "done")
        assert json.loads(release.run("jobs", "show", str(todays.id), "--json", **url))["state"] == "done"
        runner.send_signal(signal.SIGTERM)
        assert await runner.wait() == 0
    finally:
        if runner.returncode is None:
            runner.kill()
            await runner.wait()


async def test_its_operator_gives_a_revision_the_name_that_it_has_today(release: Release) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", REVISION, json.dumps(GROUP), env=release.environment(), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    assert told.decode().strip() == NAME


def test_a_revision_keeps_its_name_so_that_a_new_operator_restarts_nobody() -> None:
    assert revision_of(RunnerGroup.model_validate(GROUP)) == NAME
