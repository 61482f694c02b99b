"""A pool belongs to the namespace that served it first; others need a grant, which only some may give."""

import pytest

from paceline.database import Database
from paceline.errors import InvalidInputError, NotAllowedError, NotFoundError, PoolConflictError
from paceline.queue import Queue
from postgres.cli.process import Cli
from support.pg import LoginUrl

PUT = "SELECT paceline.put_group('', $1, $2, 'builds')"
GRANT = "SELECT paceline.grant_namespace($1, $2)"
REVOKE = "SELECT paceline.revoke_namespace($1, $2)"


@pytest.fixture
async def owned(database: Database) -> Database:
    """The pool `builds` is team-a's."""
    await database.value(PUT, "team-a", "builds")
    return database


async def test_another_namespace_serves_a_pool_from_its_grant_to_its_end(cli: Cli, owned: Database) -> None:
    with pytest.raises(PoolConflictError, match=r"run: paceline pool grant builds --namespace team-b"):
        await owned.value(PUT, "team-b", "more")
    granted = await cli("pool", "grant", "builds", "--namespace", "team-b")
    assert granted.out == "namespace team-b may serve pool builds\n"
    assert await owned.value(PUT, "team-b", "more") is not None
    again = await cli("pool", "grant", "builds", "--namespace", "team-b", "--json")
    assert again.json == {"pool": "builds", "namespace": "team-b", "new": False}
    assert (await cli("pool", "revoke", "builds", "--namespace", "team-b")).code == 0
    with pytest.raises(PoolConflictError):
        await owned.value(PUT, "team-b", "more")
    gone = await cli("pool", "revoke", "builds", "--namespace", "team-b")
    assert (gone.code, "has no grant on pool builds" in gone.err) == (1, True)


async def test_the_owner_needs_no_grant_and_cannot_lose_it(owned: Database) -> None:
    assert await owned.value(GRANT, "builds", "team-a") is False
    assert await owned.value("SELECT count(*) FROM paceline.pool_namespace") == 0
    with pytest.raises(PoolConflictError, match='belongs to namespace "team-a", which needs no grant'):
        await owned.value(REVOKE, "builds", "team-a")


async def test_a_grant_is_for_its_pool_alone(owned: Database) -> None:
    await owned.value("SELECT paceline.put_group('', 'team-a', 'other', 'other')")
    assert await owned.value(GRANT, "other", "team-b") is True
    with pytest.raises(PoolConflictError):
        await owned.value(PUT, "team-b", "more")


@pytest.mark.parametrize("namespace", ["", "Team", "a_b", "-a", "a" * 64, None])
async def test_what_is_no_namespace_is_refused(owned: Database, namespace: str | None) -> None:
    for call in (GRANT, REVOKE):
        with pytest.raises(InvalidInputError, match="is not a name"):
            await owned.value(call, "builds", namespace)


async def test_only_the_owner_and_operators_of_the_pool_decide(
    owned: Database, queue: Queue, login_url: LoginUrl
) -> None:
    await Queue(owned, "other").enqueue("mail")
    for role in ("runner", "producer", "reader", "gateway"):
        async with await Database.open(await login_url(role), size=1) as mine:
            for call in (GRANT, REVOKE):
                with pytest.raises(NotAllowedError, match="--as operator"):
                    await mine.value(call, "builds", "team-b")
    async with await Database.open(await login_url("operator", "builds"), size=1) as mine:
        assert await mine.value(GRANT, "builds", "team-b") is True
        for pool in ("other", "not-there"):
            with pytest.raises(NotAllowedError):
                await mine.value(GRANT, pool, "team-b")
        assert await mine.value(REVOKE, "builds", "team-b") is True
    with pytest.raises(NotFoundError, match='there is no pool "not-there"'):
        await owned.value(GRANT, "not-there", "team-b")
