"""Tokens in the database: whose they are, who may ask for them, and what ends with one."""

import asyncio

import asyncpg
import pytest

from paceline.database import Database
from paceline.dialled import Connection, Dialling
from paceline.errors import NotAllowedError, NotFoundError
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.tokens import CHANNEL, Tokens
from postgres.gateway.dialling import cause, dial, job_row, take, token_of
from support.pg import Connect, Login, Tick, behind, waits_for_a_lock

CAUSE = "SELECT cause FROM paceline.incarnation WHERE id = $1"
EXPIRE = "UPDATE paceline.token SET expires_at = clock_timestamp() WHERE id = $1"


def number(token: str) -> str:
    return token.split("_")[1]


async def test_a_revoked_token_ends_what_was_registered_with_it_and_nothing_else(
    database: Database, queue: Queue
) -> None:
    tokens, dialling = Tokens(database), Dialling(database)
    mine, other = [
        number(await tokens.create("rk", pool="builds", runner=name)) for name in ("laptop", "desktop")
    ]  # fmt: skip
    ended, stays = [await dialling.register(token, kinds=["*"]) for token in (mine, other)]
    made = await queue.enqueue("mail")
    assert (await dialling.offer(ended.pool, {Connection(ended.incarnation): 1})).offers[0].jobs
    assert await tokens.revoke(mine)
    assert await database.value(CAUSE, ended.incarnation) == "Revoked"
    assert await database.value(CAUSE, stays.incarnation) is None
    seen = await Reader(database).job_detail(made.id)
    assert seen is not None
    assert (seen.state, seen.losses) == ("ready", 1)
    assert not await tokens.revoke(mine)
    with pytest.raises(NotAllowedError, match="not good any more"):
        await dialling.register(mine, kinds=["*"])


async def test_a_token_that_expires_ends_what_was_registered_with_it(
    database: Database, queue: Queue, tick: Tick
) -> None:
    ended, stays = await dial(database, "a"), await dial(database, "b")
    made = await queue.enqueue("mail")
    assert await take(database, ended)
    await database.value(EXPIRE, await token_of(database, ended))
    await tick()
    assert [await cause(database, each) for each in (ended, stays)] == ["Revoked", None]
    assert await job_row(database, made.id) == ("r", None, 0, 1)


async def test_the_end_of_a_token_waits_for_nobody(database: Database, connect: Connect, tick: Tick) -> None:
    claiming, idle = await dial(database, "a"), await dial(database, "b")
    await database.value("UPDATE paceline.token SET expires_at = clock_timestamp()")
    other = await connect()
    await other.execute("BEGIN")
    await other.fetch("SELECT FROM paceline.incarnation WHERE id = $1 FOR KEY SHARE", claiming.incarnation)
    async with asyncio.timeout(20):
        await tick()
    assert [await cause(database, each) for each in (claiming, idle)] == [None, "Revoked"]
    await other.execute("COMMIT")
    await tick()
    assert await cause(database, claiming) == "Revoked"


async def test_a_registration_that_is_under_way_is_ended_too(database: Database, connect: Connect) -> None:
    token = number(await Tokens(database).create("rk", pool="builds", runner="laptop"))
    registering, watching, revoking = await connect(), await connect(), await connect()
    await registering.execute("BEGIN")
    made = await registering.fetchval("SELECT incarnation FROM paceline.dial($1, '{*}')", token)
    ((revoked,),) = await behind(registering, watching, revoking, "SELECT paceline.revoke_token($1)", token)
    assert revoked is True
    assert await database.value(CAUSE, made) == "Revoked"


async def test_a_revocation_is_told_with_its_commit(database: Database, connect: Connect) -> None:
    token = number(await Tokens(database).create("ak"))
    line: asyncpg.Connection[asyncpg.Record] = await connect()
    heard: asyncio.Queue[object] = asyncio.Queue()
    await line.add_listener(CHANNEL, lambda *told: heard.put_nowait(told[-1]))
    await Tokens(database).revoke(token)
    assert await heard.get() == token


async def test_only_a_gateway_may_find_tokens_and_only_those_of_its_pools(database: Database, login: Login) -> None:
    tokens = Tokens(database)
    builds, shop, every = [number(await tokens.create("ak", pool=pool)) for pool in ("builds", "shop", None)]
    found = [await Tokens(await login("gateway", "builds")).find(token) for token in (builds, shop, every)]
    assert [each is not None for each in found] == [True, False, False]
    everywhere = Tokens(await login("gateway"))
    assert [(await everywhere.find(token)) is not None for token in (builds, shop, every, "0" * 12)] == [
        True, True, True, False,
    ]  # fmt: skip
    for role in ("runner", "producer", "reader", "operator", None):
        with pytest.raises(NotAllowedError, match="--as gateway"):
            await Tokens(await login(role)).find(builds)


async def test_a_gateway_cannot_make_or_revoke_tokens(database: Database, login: Login) -> None:
    token = number(await Tokens(database).create("ak"))
    gateway = Tokens(await login("gateway"))
    with pytest.raises(NotAllowedError):
        await gateway.create("ak")
    with pytest.raises(NotFoundError):
        await gateway.revoke(token)
    assert await gateway.list() == []
    found = await gateway.find(token)
    assert found is not None
    assert found.valid


async def test_use_is_noted_to_the_minute_and_by_the_pools_gateway_alone(database: Database, login: Login) -> None:
    tokens = Tokens(database)
    token = number(await tokens.create("ak", pool="builds"))

    async def used() -> object:
        return (await tokens.list())[0].used_at

    await Tokens(await login("gateway", "shop")).note_used([token])
    await Tokens(await login("operator")).note_used([token])
    assert await used() is None
    gateway = Tokens(await login("gateway", "builds"))
    await gateway.note_used([token])
    first = await used()
    assert first is not None
    await gateway.note_used([token])
    assert await used() == first
    await database.value("UPDATE paceline.token SET used_at = used_at - interval '61 seconds'")
    await gateway.note_used([token])
    assert await used() != first


async def test_the_secret_is_not_kept(database: Database) -> None:
    token = await Tokens(database).create("ak")
    whole = await database.value("SELECT t::text FROM paceline.token t")
    assert number(token) in whole
    assert token.split("_", 2)[2] not in whole


IN_ITS_WAY = {
    "registers": ("SELECT incarnation FROM paceline.dial($1, '{*}')", "is not good any more"),
    "is revoked": ("SELECT paceline.revoke_token($1)", "there is no token"),
}


@pytest.mark.parametrize("what", IN_ITS_WAY)
async def test_a_group_can_be_deleted_while_one_of_its_tokens(database: Database, connect: Connect, what: str) -> None:
    """All of them lock the group first: whoever had the token before it would wait for the other, and he for it."""
    sql, refusal = IN_ITS_WAY[what]
    group = await database.value("SELECT paceline.put_group('prod', 'ci', 'builds', 'builds')")
    token = number(await Tokens(database).create("rk", group="builds", namespace="ci", runner="laptop"))
    await Dialling(database).register(token, kinds=["*"])
    deleting, other, watcher = await connect(), await connect(), await connect()
    await deleting.execute("BEGIN")
    await deleting.fetch("SELECT FROM paceline.runner_group WHERE id = $1 FOR UPDATE", group)
    await deleting.fetch("SELECT FROM paceline.incarnation FOR UPDATE")  # so far has a deletion come
    waiting = asyncio.create_task(other.fetch(sql, token))
    await waits_for_a_lock(watcher, other.get_server_pid())
    await deleting.fetch("SELECT paceline.delete_group($1)", group)
    await deleting.execute("COMMIT")
    with pytest.raises(asyncpg.PostgresError, match=refusal):
        await waiting
    assert await database.value("SELECT count(*) FROM paceline.token") == 0


async def test_tokens_go_with_their_group(database: Database) -> None:
    group = await database.value("SELECT paceline.put_group('prod', 'ci', 'builds', 'builds')")
    token = number(await Tokens(database).create("rk", group="builds", namespace="ci", runner="laptop"))
    await database.value("DELETE FROM paceline.runner_group WHERE id = $1", group)
    assert await Tokens(database).find(token) is None
