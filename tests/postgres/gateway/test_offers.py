"""Claims for several runners at once, and what becomes of a run that does not arrive."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from paceline.claims import Verdict
from paceline.database import Database
from paceline.dialled import Dialled, Dialling
from paceline.job import Claimed, NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from postgres.gateway.dialling import (
    NO_TICK,
    OFFER,
    arguments,
    beat,
    by,
    confirmations_are_due,
    dial,
    found,
    job_row,
    offer,
    take,
    token_of,
)
from support.pg import Connect, Register, Tick, behind

TAINT = """\
SELECT paceline.taint_runner((SELECT runner FROM paceline.incarnation WHERE id = $1), 'cli', '{x}', '{""}', $2)"""
BEAT = """\
SELECT verdict, refused FROM paceline.beat(ARRAY[$1::bigint], ARRAY[NULL::bigint], ARRAY[$1::bigint], ARRAY[$2::bigint],
                                           ARRAY[$3::bigint])"""
OFFERS = "SELECT count(*) FROM paceline.offer"


# who is tried


async def test_the_first_come_first_and_nobody_gets_more_than_it_wants(database: Database, queue: Queue) -> None:
    made = [each.id for each in await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])]
    one, two = await dial(database, "a"), await dial(database, "b")
    told = await offer(database, two, one, want=2)
    assert found(told) == {two.incarnation: tuple(made[:2]), one.incarnation: tuple(made[2:])}
    assert not told.more
    fences = {job.fence for each in told.offers for job in each.jobs}
    assert len(fences) == 2, "each claim has a fence of its own"


async def test_where_the_lanes_of_one_are_dry_nobody_else_tries_them(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runners = [await dial(database, name) for name in "abcd"]
    told = await offer(database, *runners)
    assert found(told) == {runners[0].incarnation: (made.id,), runners[1].incarnation: ()}


async def test_who_has_no_lanes_at_all_is_not_tried_either(database: Database, queue: Queue) -> None:
    await queue.enqueue("mail")
    runners = [await dial(database, name, kinds=["thumb"]) for name in "abc"]
    told = await offer(database, *runners)
    assert found(told) == {runners[0].incarnation: ()}
    assert told.more, "somebody else may do it"


async def test_who_may_do_something_else_is_tried_although_others_found_nothing(
    database: Database, queue: Queue
) -> None:
    made = await queue.enqueue("thumb")
    mail, both = await dial(database, "a", kinds=["mail"]), await dial(database, "b", kinds=["mail", "thumb"])
    assert found(await offer(database, mail, both))[both.incarnation] == (made.id,)


async def test_a_lane_with_a_rate_is_one_of_its_lanes(database: Database, queue: Queue) -> None:
    await database.value("SELECT paceline.set_kind('builds', 'thumb', 10)")
    made = await queue.enqueue("thumb")
    await queue.enqueue(NewJob(kind="mail", tags=("gpu",)))
    plain, rated = await dial(database, "a", kinds=["mail"]), await dial(database, "b", kinds=["mail", "thumb"])
    assert found(await offer(database, plain, rated)) == {plain.incarnation: (), rated.incarnation: (made.id,)}


async def test_what_one_leaves_to_others_for_a_while_is_not_dry_for_them(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    await database.value("UPDATE paceline.job SET ready_at = ready_at + interval '1 minute'")
    shy, shy_too, bold = await dial(database, "a"), await dial(database, "b"), await dial(database, "c")
    for each in (shy, shy_too):
        await database.value(TAINT, each.incarnation, ["PreferNoClaim"])
    told = found(await offer(database, shy, shy_too, bold))
    assert told == {shy.incarnation: (), bold.incarnation: (made.id,)}


async def test_lanes_that_are_new_are_seen(database: Database, queue: Queue) -> None:
    runners = [await dial(database, name) for name in "abc"]
    assert found(await offer(database, *runners)) == {runners[0].incarnation: ()}
    made = await queue.enqueue("new")
    told = await offer(database, *runners)
    assert found(told) == {runners[0].incarnation: (made.id,), runners[1].incarnation: ()}


async def test_it_is_said_that_there_is_work_for_others(database: Database, queue: Queue) -> None:
    mail = await dial(database, "a", kinds=["mail"])
    assert not (await offer(database, mail)).more
    await queue.enqueue("thumb")
    assert (await offer(database, mail)).more
    await queue.enqueue("mail")
    other = await dial(database, "b", kinds=["thumb"])
    assert not (await offer(database, mail, other, want=2)).more


async def test_who_does_nothing_of_what_is_left_is_not_asked_again(database: Database, queue: Queue) -> None:
    await database.value("SELECT paceline.set_pool('builds', p_rate => 0.001, p_burst => 1)")
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    runner = await dial(database)
    assert not (await offer(database, runner, want=3)).more, "what is left is ready, but nobody may have it now"


async def test_a_claim_says_whether_producers_tell_us(database: Database) -> None:
    runner = await dial(database)
    dialling = Dialling(database)
    first = await dialling.offer(runner.pool, {by(runner): 1}, listen=runner.lease)
    assert not first.listening, "what came before is unseen"
    assert (await dialling.offer(runner.pool, {by(runner): 1}, listen=runner.lease)).listening


async def test_somebody_listens_also_where_the_gate_is_closed(database: Database, queue: Queue) -> None:
    runner = await dial(database)
    await queue.pause()
    told = await Dialling(database).offer(runner.pool, {by(runner): 1}, listen=runner.lease)
    assert [each.verdict for each in told.offers] == ["paused"]
    assert await database.value("SELECT count(*) FROM paceline.waiter WHERE until > clock_timestamp()") == 1


# gates


async def _drain(database: Database, runner: Dialled) -> None:
    await Dialling(database).drain(runner.incarnation)


async def _pause(database: Database, _: Dialled) -> None:
    await Queue(database, "builds").pause()


async def _fence(database: Database, runner: Dialled) -> None:
    await database.value("SELECT paceline.fence_incarnation($1, 'Error')", runner.incarnation)


async def _end_lease(database: Database, runner: Dialled) -> None:
    over = "UPDATE paceline.incarnation SET lease_until = clock_timestamp() WHERE id = $1"
    await database.value(over, runner.incarnation)


GATES: dict[Verdict, Callable[[Database, Dialled], Awaitable[None]]] = {
    "draining": _drain,
    "paused": _pause,
    "fenced": _fence,
}


@pytest.mark.parametrize("verdict", GATES)
async def test_a_closed_gate_is_told_and_nothing_is_claimed(database: Database, queue: Queue, verdict: Verdict) -> None:
    await queue.enqueue("mail")
    runner = await dial(database)
    await GATES[verdict](database, runner)
    (told,) = (await offer(database, runner)).offers
    assert (told.verdict, told.jobs) == (verdict, ())


async def test_a_lease_that_is_over_is_a_closed_gate(database: Database, queue: Queue) -> None:
    await queue.enqueue("mail")
    runner = await dial(database)
    await database.value(NO_TICK)
    await _end_lease(database, runner)
    (told,) = (await offer(database, runner)).offers
    assert (told.verdict, told.jobs) == ("fenced", ())


async def test_only_the_leader_is_claimed_for(database: Database, queue: Queue) -> None:
    await database.value("SELECT paceline.put_group('', '', 'builds', 'builds', true)")
    made = await queue.enqueue("mail")
    leader, standby = await dial(database, "a"), await dial(database, "b")
    told = await offer(database, standby, leader)
    assert [(each.verdict, len(each.jobs)) for each in told.offers] == [("standby", 0), ("ok", 1)]
    assert (await job_row(database, made.id))[1] == leader.incarnation


async def test_a_socket_that_is_not_the_current_one_gets_nothing(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    old = await dial(database, socket=True)
    new = await Dialling(database).resume(await token_of(database, old), old.incarnation, {})
    assert new is not None
    (told,) = (await offer(database, old)).offers
    assert (told.verdict, told.jobs) == ("moved", ())
    assert found(await offer(database, new)) == {new.incarnation: (made.id,)}
    await queue.enqueue("mail")
    await Dialling(database).drop(by(new))
    (told,) = (await offer(database, new)).offers
    assert (told.verdict, told.jobs) == ("moved", ())


async def test_whoever_is_just_being_drained_is_passed_by(database: Database, queue: Queue, connect: Connect) -> None:
    made = await queue.enqueue("mail")
    leaving, staying = await dial(database, "a"), await dial(database, "b")
    draining = await connect()
    await draining.execute("BEGIN")
    await draining.fetch("SELECT paceline.drain($1)", leaving.incarnation)
    async with asyncio.timeout(20):  # it would wait for ever
        told = await offer(database, leaving, staying)
    assert found(told) == {staying.incarnation: (made.id,)}
    await draining.execute("COMMIT")
    (told_later,) = (await offer(database, leaving)).offers
    assert told_later.verdict == "draining"


async def test_a_drain_waits_for_a_claim_and_sees_its_jobs(database: Database, queue: Queue, connect: Connect) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    runner = await dial(database)
    claiming, draining, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    await claiming.fetch(OFFER, *arguments(runner, want=2))
    (row,) = await behind(claiming, watcher, draining, "SELECT paceline.drain($1)", runner.incarnation)
    assert row[0] == 2


# confirmed, or not


async def test_what_is_not_confirmed_in_time_goes_back_and_nothing_is_charged(
    database: Database, queue: Queue, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    await tick()
    assert (await job_row(database, made.id))[0] == "x", "it has thirty seconds"
    await confirmations_are_due(database)
    await tick()
    assert await job_row(database, made.id) == ("r", None, 0, 0)
    (attempt,) = await Reader(database).job_attempts(made.id)
    assert (attempt.outcome, attempt.cause, attempt.runner) == ("handed_back", "Unconfirmed", "laptop")
    assert await database.value(OFFERS) == 0
    assert (await beat(database, runner, job)).refused == {made.id}
    assert not await Dialling(database).complete(runner.incarnation, job.id, job.fence, None, None)
    assert (await job_row(database, made.id))[0] == "r"


async def test_one_of_two_is_due(database: Database, queue: Queue, tick: Tick) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await dial(database)
    (first,), (second,) = await take(database, runner), await take(database, runner)
    await database.value("UPDATE paceline.offer SET until = clock_timestamp() WHERE job = $1", first.id)
    await tick()
    assert [(await job_row(database, each.id))[0] for each in (first, second)] == ["r", "x"]


async def _by_heartbeat(database: Database, runner: Dialled, job: Claimed) -> object:
    return (await beat(database, runner, job)).verdict == "ok"


async def _by_progress(database: Database, runner: Dialled, job: Claimed) -> object:
    return await Dialling(database).progress(runner.incarnation, job.id, job.fence, "1")


async def _by_extend(database: Database, runner: Dialled, job: Claimed) -> object:
    return await Dialling(database).extend(runner.incarnation, job.id, job.fence, runner.lease)


async def _by_log(database: Database, runner: Dialled, job: Claimed) -> object:
    return await Dialling(database).log(runner.incarnation, job.id, job.fence, "half\n")


CONFIRMING = {"heartbeat": _by_heartbeat, "progress": _by_progress, "extend": _by_extend, "log": _by_log}


@pytest.mark.parametrize("way", CONFIRMING)
async def test_whatever_is_said_of_a_run_confirms_it(database: Database, queue: Queue, tick: Tick, way: str) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    assert await CONFIRMING[way](database, runner, job)
    await confirmations_are_due(database)
    await tick()
    assert await job_row(database, made.id) == ("x", runner.incarnation, 0, 0)


async def test_what_is_over_leaves_no_offer_behind(database: Database, queue: Queue) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    runner = await dial(database)
    done, failed, back = await take(database, runner, 3)
    dialling, me = Dialling(database), runner.incarnation
    assert await database.value(OFFERS) == 3
    assert await dialling.complete(me, done.id, done.fence, None, None)
    assert await dialling.fail(me, failed.id, failed.fence, "bad", None)
    assert await dialling.hand_back(me, back.id, back.fence)
    assert await database.value(OFFERS) == 0
    seen = [await Reader(database).job_detail(each.id) for each in made]
    assert [each and each.state for each in seen] == ["done", "dead", "ready"]


async def test_a_heartbeat_confirms_only_runs_of_its_own_with_their_fence(
    database: Database, queue: Queue, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    runner, other = await dial(database, "a"), await dial(database, "b")
    (job,) = await take(database, runner)
    assert (await beat(database, other, job)).refused == {made.id}
    assert (await beat(database, runner, job._replace(fence=job.fence - 1))).refused == {made.id}  # type: ignore[arg-type]
    await confirmations_are_due(database)
    await tick()
    assert (await job_row(database, made.id))[0] == "r"


async def test_a_run_that_is_claimed_again_is_a_new_offer(database: Database, queue: Queue, tick: Tick) -> None:
    made = await queue.enqueue("mail")
    lost, next_one = await dial(database, "a"), await dial(database, "b")
    (old,) = await take(database, lost)
    await _fence(database, lost)
    (new,) = await take(database, next_one)
    assert (old.id, new.id, new.fence > old.fence) == (made.id, made.id, True)
    assert (await beat(database, next_one, new)).refused == set()
    await confirmations_are_due(database)
    await tick()
    assert await job_row(database, made.id) == ("x", next_one.incarnation, 0, 1)


async def test_the_sweep_passes_by_a_confirmation_that_is_on_its_way(
    database: Database, queue: Queue, connect: Connect, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    await confirmations_are_due(database)
    beating = await connect()
    await beating.execute("BEGIN")
    (row,) = await beating.fetch(BEAT, runner.incarnation, job.id, job.fence)
    assert tuple(row) == ("ok", [])
    async with asyncio.timeout(20):  # housekeeping waits for nobody
        await tick()
    await beating.execute("COMMIT")
    await tick()
    assert (await job_row(database, made.id))[0] == "x"


async def test_a_confirmation_that_waited_for_the_sweep_is_refused(
    database: Database, queue: Queue, connect: Connect
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    await confirmations_are_due(database)
    await database.value("UPDATE paceline.tick SET next_at = '-infinity', review_at = '-infinity'")
    sweeping, beating, watcher = await connect(), await connect(), await connect()
    await sweeping.execute("BEGIN")
    assert await sweeping.fetchval("SELECT paceline.tick()") is True
    (row,) = await behind(sweeping, watcher, beating, BEAT, runner.incarnation, job.id, job.fence)
    assert tuple(row) == ("ok", [made.id])


async def test_a_job_that_somebody_else_holds_is_taken_back_later(
    database: Database, queue: Queue, connect: Connect, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    await take(database, runner)
    await confirmations_are_due(database)
    holding = await connect()
    await holding.execute("BEGIN")
    await holding.fetch("SELECT FROM paceline.job WHERE id = $1 FOR NO KEY UPDATE", made.id)
    async with asyncio.timeout(20):
        await tick()
    await holding.execute("COMMIT")
    assert (await job_row(database, made.id))[0] == "x"
    await tick()
    assert (await job_row(database, made.id))[0] == "r"


async def test_one_that_is_to_be_cancelled_is_cancelled_when_it_did_not_arrive(
    database: Database, queue: Queue, tick: Tick
) -> None:
    made = await queue.enqueue("mail")
    await take(database, await dial(database))
    await queue.cancel(made.id)
    await confirmations_are_due(database)
    await tick()
    seen = await Reader(database).job_detail(made.id)
    assert seen is not None
    assert seen.state == "cancelled"


async def test_a_direct_runner_has_nothing_to_confirm(database: Database, queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    runner = await register()
    assert (await runner.step(1)).jobs
    assert await database.value(OFFERS) == 0
