"""Runners that dial out: registered with a token, resumed by one socket at a time, and found out when they are gone."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from paceline.claims import IncarnationId
from paceline.database import Database
from paceline.dialled import Connection, Dialling
from paceline.errors import NotAllowedError, NotFoundError
from paceline.job import Fence, JobId, NewJob
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.tokens import Tokens
from postgres.gateway.dialling import (
    beat,
    by,
    cause,
    dial,
    has_time,
    job_row,
    leased_for,
    pairs,
    take,
    token_of,
)
from support.pg import STEP, Connect, Login, Tick, behind

DIAL = "SELECT incarnation FROM paceline.dial($1, '{*}')"
RESUME = "SELECT incarnation, refused FROM paceline.resume($1, $2)"
LEASE, GRACE = timedelta(seconds=30), timedelta(seconds=5)
OVER = "UPDATE paceline.incarnation SET lease_until = clock_timestamp() WHERE id = $1"


async def test_a_registration_has_its_token_and_a_lease_by_its_heartbeat(database: Database) -> None:
    quick, slow = await dial(database, "a"), await dial(database, "b", heartbeat=60, slots=3)
    assert (quick.lease, slow.lease) == (timedelta(seconds=30), timedelta(seconds=150))
    assert (slow.name, slow.pool_name, slow.slots, slow.session) == ("b", "builds", 3, None)
    assert await token_of(database, quick) != await token_of(database, slow)
    seen = await Reader(database).list_runners("builds")
    assert {(each.id, each.external) for each in seen} == {("a", True), ("b", True)}


async def test_a_token_of_a_group_registers_there(database: Database) -> None:
    await database.value("SELECT paceline.put_group('main', 'ci', 'big', 'builds')")
    token = await Tokens(database).create("rk", group="big", namespace="ci", runner="laptop")
    await Dialling(database).register(token.split("_")[1], kinds=["*"])
    (seen,) = await Reader(database).list_runners("builds")
    assert (seen.namespace, seen.group) == ("ci", "big")


@pytest.mark.parametrize("what", ["revoked", "expired", "of another kind", "unknown"])
async def test_a_token_that_is_not_good_registers_nobody(database: Database, what: str) -> None:
    tokens = Tokens(database)
    kind = "pk" if what == "of another kind" else "rk"
    token = await tokens.create(kind, pool="builds", runner="laptop" if kind == "rk" else None)  # type: ignore[arg-type]
    number = token.split("_")[1]
    if what == "revoked":
        await tokens.revoke(number)
    elif what == "expired":
        await database.value("UPDATE paceline.token SET expires_at = clock_timestamp()")
    with pytest.raises(NotAllowedError):
        await Dialling(database).register("000000000000" if what == "unknown" else number, kinds=["*"])
    assert await database.value("SELECT count(*) FROM paceline.incarnation") == 0


async def test_a_gateways_login_is_revoked_and_who_came_by_it_stays(database: Database, login: Login) -> None:
    gateway = await login("gateway", "builds")
    token = await Tokens(database).create("rk", pool="builds", runner="laptop")
    mine = await Dialling(gateway).register(token.split("_")[1], kinds=["*"])
    name = await gateway.value("SELECT session_user::text")
    await database.value("SELECT paceline.revoke_login($1, 'gateway', 'builds')", name)
    with pytest.raises(NotAllowedError):
        await beat(gateway, mine)
    assert (await beat(await login("gateway", "builds"), mine)).verdict == "ok"


async def test_a_revocation_waits_for_a_registration_and_ends_it(database: Database, connect: Connect) -> None:
    token = (await Tokens(database).create("rk", pool="builds", runner="laptop")).split("_")[1]
    dialling, revoking, watcher = await connect(), await connect(), await connect()
    await dialling.execute("BEGIN")
    made = await dialling.fetchval(DIAL, token)
    await behind(dialling, watcher, revoking, "SELECT paceline.revoke_token($1)", token)
    assert await database.value("SELECT cause FROM paceline.incarnation WHERE id = $1", made) == "Revoked"


async def test_a_registration_that_waited_for_a_revocation_is_refused(database: Database, connect: Connect) -> None:
    token = (await Tokens(database).create("rk", pool="builds", runner="laptop")).split("_")[1]
    revoking, dialling, watcher = await connect(), await connect(), await connect()
    await revoking.execute("BEGIN")
    await revoking.fetch("SELECT paceline.revoke_token($1)", token)
    with pytest.raises(asyncpg.PostgresError, match="is not good any more"):
        await behind(revoking, watcher, dialling, DIAL, token)


@pytest.mark.parametrize("role", ["runner", "producer", "reader", "gateway"])
async def test_only_a_gateway_of_the_pool_speaks_for_others(database: Database, login: Login, role: str) -> None:
    runner, drained = await dial(database, socket=True), await dial(database, "drained")
    await Dialling(database).drain(drained.incarnation)
    token = await token_of(database, runner)
    await Queue(database, "builds").enqueue("mail")
    await Queue(database, "others").enqueue("mail")
    stranger = Dialling(await login(role, "others" if role == "gateway" else "builds"))
    for call in (
        stranger.register(token, kinds=["*"]),
        stranger.place(token, runner.incarnation),
        stranger.resume(token, runner.incarnation, {}),
        stranger.offer(runner.pool, {by(runner): 1}),
        stranger.offer(runner.pool, {by(drained): 1}),
        stranger.drop(by(runner)),
        stranger.tries(runner.incarnation, JobId(1), Fence(1)),
        stranger.complete(runner.incarnation, JobId(1), Fence(1), None, None),
        stranger.log(runner.incarnation, JobId(1), Fence(1), "text"),
    ):
        with pytest.raises(NotAllowedError):
            await call
    assert await database.value("SELECT count(*) FROM paceline.job WHERE state = 'r'") == 2
    assert await cause(database, runner) is None


async def test_a_gateway_of_the_pool_does_all_of_it(database: Database, login: Login) -> None:
    runner = await dial(database, socket=True)
    token = await token_of(database, runner)
    await Queue(database, "builds").enqueue("mail")
    theirs = await login("gateway", "builds")
    (job,) = await take(theirs, runner)
    assert (await beat(theirs, runner, job)).verdict == "ok"
    again = await Dialling(theirs).resume(token, runner.incarnation, pairs([job]))
    assert again is not None
    assert again.refused == frozenset()
    assert await Dialling(theirs).complete(runner.incarnation, job.id, job.fence, "1", None)


async def test_a_registration_of_another_token_cannot_be_resumed(database: Database) -> None:
    mine, other = await dial(database, "a", socket=True), await dial(database, "b")
    with pytest.raises(NotFoundError):
        await Dialling(database).resume(await token_of(database, other), mine.incarnation, {})
    with pytest.raises(NotFoundError):
        await Dialling(database).place(await token_of(database, other), mine.incarnation)


async def test_a_socket_that_dropped_has_five_seconds_and_then_its_jobs_are_lost(
    database: Database, queue: Queue, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database, socket=True)
    (job,) = await take(database, runner)
    await beat(database, runner, job)
    async with leased_for(database, GRACE):
        assert await Dialling(database).drop(by(runner))
    await has_time(database, runner)
    await tick()
    assert (await job_row(database, made.id))[0] == "x"
    await database.value(OVER, runner.incarnation)
    await tick()
    assert await cause(database, runner) == "Disconnected"
    assert await job_row(database, made.id) == ("r", None, 0, 1)


async def test_who_comes_back_in_time_has_a_whole_lease_again(database: Database, queue: Queue, tick: Tick) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database, socket=True)
    (job,) = await take(database, runner)
    await Dialling(database).drop(by(runner))
    await has_time(database, runner)
    async with leased_for(database, LEASE):
        back = await Dialling(database).resume(await token_of(database, runner), runner.incarnation, pairs([job]))
    assert back is not None
    assert (back.incarnation, back.name, back.refused) == (runner.incarnation, "laptop", frozenset())
    await database.value(OVER, runner.incarnation)
    await tick()
    assert await cause(database, runner) == "LeaseExpired", "that it had once been disconnected is forgotten"
    assert (await job_row(database, made.id))[0] == "r"


async def test_the_end_of_a_socket_that_is_not_the_current_one_means_nothing(database: Database) -> None:
    runner = await dial(database, socket=True)
    token = await token_of(database, runner)
    async with leased_for(database, LEASE):
        back = await Dialling(database).resume(token, runner.incarnation, {})
        assert back is not None
        assert back.session != runner.session
        assert not await Dialling(database).drop(by(runner))
    assert await Dialling(database).drop(by(back))


async def test_a_heartbeat_of_a_socket_that_has_gone_keeps_nobody_alive(database: Database) -> None:
    runner = await dial(database, socket=True)
    await Dialling(database).drop(by(runner))
    await has_time(database, runner)
    until = "SELECT lease_until FROM paceline.incarnation"
    before = await database.value(until)
    assert (await beat(database, runner)).verdict == "moved"
    assert await database.value(until) == before


async def test_a_heartbeat_by_request_shows_that_it_is_there(database: Database, tick: Tick) -> None:
    runner = await dial(database, socket=True)
    await Dialling(database).drop(by(runner))
    await has_time(database, runner)
    news = await beat(database, runner, by_request=True)
    assert (news.verdict, news.lease) == ("ok", timedelta(seconds=30))
    await database.value(OVER, runner.incarnation)
    await tick()
    assert await cause(database, runner) == "LeaseExpired"


async def test_jobs_of_callers_are_lost_with_the_socket(database: Database, queue: Queue) -> None:
    calls = await queue.enqueue_many([NewJob(kind="add", max_losses=0), NewJob(kind="add"), NewJob(kind="mail")])
    dead, again, kept = (each.id for each in calls)
    await database.value("UPDATE paceline.job SET awaited = true")  # somebody follows each of them
    await database.value("INSERT INTO paceline.call SELECT unnest($1::bigint[]), 'infinity'", [dead, again])
    runner = await dial(database, socket=True)
    assert len(await take(database, runner, 3)) == 3
    await Dialling(database).drop(by(runner))
    gone = await Reader(database).job_detail(dead)
    assert gone is not None
    assert (gone.state, gone.cause, gone.runner) == ("dead", "Poison", "laptop")
    assert await job_row(database, again) == ("r", None, 0, 1)
    assert await job_row(database, kept) == ("x", runner.incarnation, 0, 0)


async def test_what_was_sent_to_the_old_socket_and_never_came_goes_back_with_the_new_one(
    database: Database, queue: Queue
) -> None:
    arrived, lost = await queue.enqueue("mail"), await queue.enqueue("mail")
    runner = await dial(database, socket=True)
    first, second = await take(database, runner, 2)
    assert (first.id, second.id) == (arrived.id, lost.id)
    token = await token_of(database, runner)
    back = await Dialling(database).resume(token, runner.incarnation, {first.id: first.fence, JobId(99): Fence(1)})
    assert back is not None
    assert back.refused == {99}
    assert await job_row(database, first.id) == ("x", runner.incarnation, 0, 0)
    assert await job_row(database, second.id) == ("r", None, 0, 0)
    (attempt,) = await Reader(database).job_attempts(second.id)
    assert (attempt.outcome, attempt.cause) == ("handed_back", "Undelivered")
    assert await database.value("SELECT count(*) FROM paceline.offer") == 0


async def test_a_resume_waits_for_a_claim_for_the_old_socket(
    database: Database, queue: Queue, connect: Connect
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database, socket=True)
    token = await token_of(database, runner)
    claiming, resuming, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    offer = "SELECT ids FROM paceline.offer($1, ARRAY[$2::bigint], ARRAY[$3::bigint], ARRAY[1], 30) LIMIT 1"
    assert await claiming.fetchval(offer, runner.pool, runner.incarnation, runner.session) == [made.id]
    (row,) = await behind(claiming, watcher, resuming, RESUME, token, runner.incarnation)
    assert tuple(row) == (runner.incarnation, [])
    assert (await job_row(database, made.id))[0] == "r"


async def test_a_sweep_passes_by_whoever_is_just_coming_back(database: Database, connect: Connect, tick: Tick) -> None:
    runner = await dial(database, socket=True)
    token = await token_of(database, runner)
    resuming = await connect()
    await resuming.execute("BEGIN")
    await Dialling(database).drop(by(runner))
    assert await resuming.fetch(RESUME, token, runner.incarnation), "it had five seconds"
    over = "SELECT lease_until <= clock_timestamp() FROM paceline.incarnation"
    while not await database.value(over):  # noqa: ASYNC110 -- what others see is the end that the drop has set
        await asyncio.sleep(0.1)
    await tick()
    await resuming.execute("COMMIT")
    assert await cause(database, runner) is None
    assert await database.value("SELECT lease_until > clock_timestamp() FROM paceline.incarnation")


async def test_who_comes_back_while_it_is_swept_is_told_that_it_is_over(database: Database, connect: Connect) -> None:
    runner = await dial(database, socket=True)
    token = await token_of(database, runner)
    await Dialling(database).drop(by(runner))
    sweeping, resuming, watcher = await connect(), await connect(), await connect()
    await sweeping.execute("BEGIN")
    assert await sweeping.fetchval("SELECT paceline.fence_incarnation($1, 'Disconnected')", runner.incarnation) == 0
    assert await behind(sweeping, watcher, resuming, RESUME, token, runner.incarnation) == []
    assert await cause(database, runner) == "Disconnected"


async def test_a_drop_waits_for_a_claim_and_sees_its_jobs(database: Database, connect: Connect) -> None:
    (made,) = await enqueue_once(database, "builds", [NewJob(kind="add", max_losses=0)], waits=[timedelta(minutes=1)])
    runner = await dial(database, socket=True)
    claiming, dropping, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    await claiming.fetch(STEP, runner.incarnation, 1)
    drop = "SELECT paceline.drop_dialled($1, $2, 5)"
    await behind(claiming, watcher, dropping, drop, runner.incarnation, runner.session)
    gone = await Reader(database).job_detail(made.id)
    assert gone is not None
    assert gone.state == "dead"


async def test_a_runner_that_nobody_knows_any_more_is_fenced(database: Database) -> None:
    gone = Connection(IncarnationId(4711), 1)
    runner = await dial(database)
    told = await Dialling(database).offer(runner.pool, {gone: 1})
    assert [each.verdict for each in told.offers] == ["fenced"]
    assert [each.verdict for each in await Dialling(database).news([gone])] == ["fenced"]
