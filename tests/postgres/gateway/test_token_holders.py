"""Tokens by tokens: a gateway manages them for whoever shows his own, as far as that reaches, and never by itself."""

from datetime import timedelta

import asyncpg
import pytest

from paceline.database import Database
from paceline.errors import NotAllowedError, NotFoundError
from paceline.tokens import Holder, Tokens, hash_of
from support.pg import Connect, Login, behind

EXPIRE = "UPDATE paceline.token SET expires_at = clock_timestamp() WHERE id = $1"


def number(token: str) -> str:
    return token.split("_")[1]


async def held(login: Login, token: str) -> Tokens:
    """A gateway to which somebody has come with a token."""
    return Tokens(await login("gateway"), Holder.of(token))


async def test_an_admin_makes_sees_and_ends_tokens_through_a_gateway(database: Database, login: Login) -> None:
    mine = await Tokens(database).create("ak")
    tokens = await held(login, mine)
    made = await tokens.create("pk", pool="builds", note="shop")
    found = await Tokens(database).find(number(made))
    assert found is not None
    assert (found.kind, found.pool, found.valid, found.hash) == ("pk", "builds", True, hash_of(made.split("_", 2)[2]))
    listed = await tokens.list()
    assert listed == await Tokens(database).list()
    assert (listed[0].id, listed[0].created_by) == (number(made), f"token {number(mine)}")
    assert await tokens.revoke(number(made)) is True
    assert await tokens.revoke(number(made)) is False
    with pytest.raises(NotFoundError, match=f'there is no token "{"0" * 12}" that token "{number(mine)}" may revoke'):
        await tokens.revoke("0" * 12)


async def refused(tokens: Tokens, token: str) -> None:
    """Nothing of it is to be had."""
    with pytest.raises(NotAllowedError, match="manages no tokens"):
        await tokens.create("pk", pool="builds")
    with pytest.raises(NotAllowedError, match="manages no tokens"):
        await tokens.list()
    with pytest.raises(NotAllowedError, match="manages no tokens"):
        await tokens.revoke(number(token))


async def test_what_the_login_itself_can_read_is_no_proof(database: Database, login: Login) -> None:
    token = await Tokens(database).create("ak")
    gateway = await login("gateway")
    found = await Tokens(gateway).find(number(token))
    assert found is not None
    for proof in (found.hash, b"", bytes(32)):
        await refused(Tokens(gateway, Holder(number(token), proof)), token)


async def test_only_a_good_token_of_an_admin_is_one(database: Database, login: Login) -> None:
    tokens = Tokens(database)
    expired, revoked, producer = await tokens.create("ak"), await tokens.create("ak"), await tokens.create("pk")
    runner = await tokens.create("rk", pool="builds", runner="laptop")
    await database.value(EXPIRE, number(expired))
    await tokens.revoke(number(revoked))
    for token in (expired, revoked, producer, runner):
        await refused(await held(login, token), token)


async def test_only_a_gateway_of_its_pools_passes_one_on(database: Database, login: Login) -> None:
    token = await Tokens(database).create("ak", pool="builds")
    await Tokens(await login("gateway", "builds"), Holder.of(token)).list()
    for role, pool in (("gateway", "shop"), ("producer", None), ("reader", None), ("operator", None), (None, None)):
        await refused(Tokens(await login(role, pool), Holder.of(token)), token)


async def test_nobody_makes_a_wider_one_than_his_own(database: Database, login: Login) -> None:
    tokens = Tokens(database)
    looking, narrow = await tokens.create("ak", read_only=True), await tokens.create("ak", pool="builds")
    brief = await tokens.create("ak", expires=timedelta(hours=1))
    before = len(await tokens.list())
    with pytest.raises(NotAllowedError, match="only for looking"):
        await (await held(login, looking)).create("ak", read_only=True)
    for pool in ("shop", None):
        with pytest.raises(NotAllowedError, match='its own pool alone: name pool "builds"'):
            await (await held(login, narrow)).create("ak", pool=pool)
    for span in (timedelta(hours=2), None):
        with pytest.raises(NotAllowedError, match=r"longer than itself: let it expire in at most 3\d{3} seconds"):
            await (await held(login, brief)).create("pk", expires=span)
    assert len(await tokens.list()) == before
    assert await database.value("SELECT count(*) FROM paceline.pool WHERE name = 'shop'") == 0
    await (await held(login, narrow)).create("ak", pool="builds", read_only=True)
    await (await held(login, brief)).create("ak", expires=timedelta(minutes=30))


async def test_of_another_pool_nothing_is_seen_or_ended(database: Database, login: Login) -> None:
    tokens = Tokens(database)
    narrow, of_all = await tokens.create("ak", pool="builds"), await tokens.create("ak")
    other = await tokens.create("pk", pool="shop")
    mine = await held(login, narrow)
    assert [each.id for each in await mine.list()] == [number(narrow)]
    for token in (of_all, other):
        with pytest.raises(NotFoundError):
            await mine.revoke(number(token))
    looking = await held(login, await tokens.create("ak", read_only=True))
    assert len(await looking.list()) == 4
    with pytest.raises(NotAllowedError, match="only for looking"):
        await looking.revoke(number(other))
    assert {each.state for each in await tokens.list()} == {"good"}


async def test_a_group_of_another_pool_is_as_unknown_as_none(database: Database, login: Login) -> None:
    for pool in ("builds", "shop"):
        await database.value("SELECT paceline.put_group('prod', 'ci', $1, $1)", pool)
    await database.value("SELECT paceline.put_group('test', 'ci', 'builds', 'shop')")
    tokens = await held(login, await Tokens(database).create("ak", pool="builds"))
    said = []
    for group in ("shop", "none"):
        with pytest.raises(NotFoundError) as found:
            await tokens.create("rk", group=group, namespace="ci", runner="laptop")
        said.append(str(found.value).replace(group, "GROUP"))
    assert said[0] == said[1]
    made = await tokens.create("rk", group="builds", namespace="ci", runner="laptop")
    (seen, _) = await tokens.list()
    assert (seen.id, seen.install, seen.group, seen.pool) == (number(made), "prod", "builds", "builds")


async def test_from_its_revocation_on_a_token_makes_none(database: Database, connect: Connect) -> None:
    token = await Tokens(database).create("ak")
    revoking, watching, making = await connect(), await connect(), await connect()
    await revoking.execute("BEGIN")
    assert await revoking.fetchval("SELECT paceline.revoke_token($1)", number(token)) is True
    make = "SELECT paceline.create_token('new', 'pk', $1, p_by => $2, p_proof => $3)"
    holder = Holder.of(token)
    with pytest.raises(asyncpg.PostgresError, match="manages no tokens"):
        await behind(revoking, watching, making, make, bytes(32), holder.id, holder.proof)
    assert len(await Tokens(database).list()) == 1
