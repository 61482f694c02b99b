"""What can be wrong with a database URL, and that no message gives the password away."""

import re
import traceback
from urllib.parse import urlsplit, urlunsplit

import pytest

from paceline.database import Address, Database
from paceline.errors import DatabaseError, InvalidInputError, PacelineError, SchemaError
from paceline.queue import Queue
from paceline.testing import PostgresServer
from support.bouncer import BouncedServer

SECRET = "s3cr3t"


async def refused(url: str) -> PacelineError:
    """The error that opening a URL and using it ends with; nothing of its traceback shows the password."""

    async def use() -> None:
        async with await Database.open(url) as database:
            await Queue(database).enqueue("mail")

    with pytest.raises(PacelineError) as caught:
        await use()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value


def at(url: str, **changes: str) -> str:
    """The same URL with a password that is easy to find in a text."""
    parts = urlsplit(url)
    netloc = f"{changes.get('user', parts.username)}:{SECRET}@{changes.get('host', f'{parts.hostname}:{parts.port}')}"
    return urlunsplit(parts._replace(netloc=netloc, path=changes.get("path", parts.path)))


async def test_a_wrong_password_is_told(migrated: str) -> None:
    error = await refused(at(migrated))
    assert isinstance(error, DatabaseError)
    assert re.search("refuses the login: (password|SASL) authentication failed", str(error))


async def test_an_unknown_user_is_told(migrated: str) -> None:
    error = await refused(at(migrated, user="nobody-here"))
    assert re.search('refuses the login: (no such user|.* failed for user "nobody-here")', str(error))


async def test_an_unknown_host_is_told(migrated: str) -> None:
    error = await refused(at(migrated, host="no-such-host.invalid:5432"))
    assert "cannot reach the database no-such-host.invalid:5432/" in str(error)


async def test_a_closed_port_is_told(migrated: str) -> None:
    assert "cannot reach the database 127.0.0.1:1/" in str(await refused(at(migrated, host="127.0.0.1:1")))


async def test_of_several_hosts_all_are_named(migrated: str) -> None:
    error = await refused(at(migrated, host="127.0.0.1:1,127.0.0.1:2"))
    assert "cannot reach the database 127.0.0.1:1,127.0.0.1:2/" in str(error)


async def test_a_database_that_is_not_there_is_told(migrated: str) -> None:
    error = await refused(urlunsplit(urlsplit(migrated)._replace(path="/nowhere")))
    assert 'database "nowhere" does not exist: create it, or correct the URL' in str(error)


async def test_a_database_without_our_schema_is_told(empty_database: str) -> None:
    error = await refused(empty_database)
    assert isinstance(error, SchemaError)
    assert "has no Paceline schema, or an older one: run: paceline migrate" in str(error)


@pytest.mark.needs_session("PgBouncer passes on no start-up parameter that it does not know")
async def test_a_read_only_session_is_told(migrated: str) -> None:
    error = await refused(f"{migrated}?default_transaction_read_only=on")
    assert isinstance(error, DatabaseError)
    assert "is read-only (a replica?): connect to the primary" in str(error)


async def test_an_option_with_a_space_arrives_whole_or_it_is_said_why_not(
    postgres: PostgresServer, migrated: str
) -> None:
    url = f"{migrated}?options=-c%20statement_timeout%3D4321"
    if isinstance(postgres, BouncedServer):
        with pytest.raises(DatabaseError, match="or name it in PgBouncer's ignore_startup_parameters"):
            await Database.open(url)
        return
    async with await Database.open(url) as database:
        assert await database.value("SHOW statement_timeout") == "4321ms"


async def test_a_value_of_the_wrong_type_is_the_callers_fault_and_not_the_networks(database: Database) -> None:
    with pytest.raises(InvalidInputError, match="invalid input"):
        await database.value("SELECT $1::integer", "seven")
    with pytest.raises(InvalidInputError, match="out of range"):
        await database.value("SELECT 2147483648::integer")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "builds",
        f"host=localhost password={SECRET}",
        f"mysql://me:{SECRET}@host/db",
        f"//me:{SECRET}@host/db",
    ],
)
async def test_what_is_no_database_url_is_told_with_an_example(url: str) -> None:
    error = await refused(url)
    assert isinstance(error, InvalidInputError)
    assert "write it like postgresql://user:password@host:5432/database" in str(error)


@pytest.mark.parametrize(
    "password",
    [
        f"{SECRET}/x",
        f"x/{SECRET}",
        f"{SECRET}?x",
        f"12?{SECRET}",
        f"12/{SECRET}",
        f"{SECRET}#x",
        f"1#{SECRET}",
        f"[{SECRET}",
    ],
)
async def test_a_password_that_is_not_encoded_is_told_and_not_shown(password: str) -> None:
    error = await refused(f"postgresql://me:{password}@127.0.0.1:1/db")
    assert isinstance(error, InvalidInputError)
    assert "as %2F, %3F, %23, %5B and %5D" in str(error)


async def test_a_port_that_is_no_number_is_told() -> None:
    assert "the database URL cannot be read" in str(await refused(f"postgresql://me:{SECRET}@host:port/db"))


@pytest.mark.parametrize(
    ("query", "pgbouncer", "kept"),
    [
        ("", False, ""),
        ("?pgbouncer=1", True, ""),
        ("?pgbouncer=true", True, ""),
        ("?pgbouncer=0", False, ""),
        ("?sslmode=require&pgbouncer=1", True, "?sslmode=require"),
        ("?application_name=", False, "?application_name="),
    ],
)
def test_the_pgbouncer_flag_is_ours_and_the_rest_is_postgresqls(query: str, pgbouncer: bool, kept: str) -> None:
    address = Address.parse(f"postgres://me:{SECRET}@[::1]:6432/db{query}")
    assert address.pgbouncer is pgbouncer
    assert address.url == f"postgres://me:{SECRET}@[::1]:6432/db{kept}"
    assert address.place == "[::1]:6432/db"
    assert SECRET not in repr(address)


async def test_a_flag_that_is_neither_is_told() -> None:
    assert 'pgbouncer="maybe" (use 1 or 0)' in str(await refused(f"postgresql://me:{SECRET}@host/db?pgbouncer=maybe"))


async def test_behind_pgbouncer_nothing_is_prepared(migrated: str) -> None:
    """A prepared statement would stay on a server connection that the next transaction does not get."""
    async with await Database.open(f"{migrated}?pgbouncer=1", size=1) as database:
        await database.value("SELECT $1::integer", 1)
        assert await database.value("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''") == 0
