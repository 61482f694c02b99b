"""The test database itself: real, fresh for each test, and gone afterwards."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest

from paceline.testing import PostgresServer, Programs, bundled
from paceline.testing.postgres import PostgresError

KILLED_OWNER = """
import sys
from paceline.testing import PostgresServer
server = PostgresServer.start()
print(server.pid, server.url, flush=True)
sys.stdin.read()
"""


async def test_it_is_the_version_that_the_test_id_says(empty_database: str, request: pytest.FixtureRequest) -> None:
    connection = await asyncpg.connect(empty_database)
    major = connection.get_server_version().major
    await connection.close()
    wanted = request.node.callspec.params["postgres"]
    assert wanted in (f"pg{major}", "url")


async def test_each_database_is_empty_and_of_its_own(postgres: PostgresServer) -> None:
    async with postgres.database() as one, postgres.database() as two:
        assert one != two
        first, second = await asyncpg.connect(one), await asyncpg.connect(two)
        await first.execute("CREATE TABLE mark ()")
        assert await second.fetchval("SELECT to_regclass('mark')") is None
        await first.close()
        await second.close()


async def test_a_database_is_dropped_even_while_somebody_is_connected(postgres: PostgresServer) -> None:
    async with postgres.database() as url:
        forgotten = await asyncpg.connect(url)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(url)
    with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError)):
        await forgotten.execute("SELECT 1")
    forgotten.terminate()


async def test_after_a_crash_it_recovers_what_was_committed_at_the_same_address() -> None:
    with PostgresServer.start(settings={"synchronous_commit": "on"}) as server:
        connection = await asyncpg.connect(server.url)
        await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        server.crash()
        with pytest.raises((OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError)):
            await connection.execute("SELECT 1")
        server.resume()
        again = await asyncpg.connect(server.url)
        assert await again.fetchval("SELECT answer FROM kept") == 42
        assert await again.fetchval("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") == 1
        await again.close()
        assert "was not properly shut down" in server.log


async def test_a_wrong_password_is_refused_over_tcp(empty_database: str) -> None:
    parts = urlsplit(empty_database)
    wrong = empty_database.replace(f":{parts.password}@", ":wrong@")
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(wrong)


async def test_an_unreachable_server_is_one_line_that_names_the_variable() -> None:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        server = PostgresServer(f"postgresql://me:secret@127.0.0.1:{probe.getsockname()[1]}/postgres")
        with pytest.raises(PostgresError, match="PACELINE_TEST_DATABASE_URL") as caught:
            async with server.database():
                pass
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_folder_without_the_programs_is_refused_by_name(tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(PostgresError, match="no program postgres"):
        PostgresServer.start(Programs(bundled().folder.parent / "nowhere", 18))


def test_a_setting_that_postgres_refuses_is_quoted() -> None:
    with pytest.raises(PostgresError, match="no_such_setting"):
        PostgresServer.start(settings={"no_such_setting": "1"})


def test_a_server_ends_with_a_killed_owner() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline().split()[0])
        postmaster = psutil.Process(pid)
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    _, left = psutil.wait_procs([postmaster], timeout=50)
    assert left == []


def test_a_durable_server_syncs_to_disk() -> None:
    with PostgresServer.start(durable=True) as server:
        command = psutil.Process(server.pid).cmdline()
    assert "fsync=off" not in command
