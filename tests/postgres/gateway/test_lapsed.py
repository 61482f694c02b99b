"""A connection that let a run lapse keeps nothing more from others, until whoever is there has heard of it."""

import asyncio

import pytest

from paceline.database import Database
from paceline.dialled import Dialled, Dialling
from paceline.job import NewJob
from paceline.queue import Queue
from postgres.gateway.dialling import by, confirmations_are_due, dial, found, offer, take, token_of
from support.pg import Connect, Login, Tick

DUE = "UPDATE paceline.tick SET next_at = '-infinity', review_at = '-infinity'"


async def verdicts(database: Database, *runners: Dialled) -> list[str]:
    return [each.verdict for each in (await offer(database, *runners)).offers]


@pytest.mark.parametrize("socket", [True, False], ids=["socket", "poll"])
async def test_it_is_told_once_and_gets_nothing_with_that(
    database: Database, queue: Queue, tick: Tick, socket: bool
) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database, socket=socket)
    await take(database, runner)
    await confirmations_are_due(database)
    await tick()
    (told,) = (await offer(database, runner)).offers
    assert (told.verdict, told.jobs) == ("lapsed", ())
    assert [job.id for job in await take(database, runner)] == [made.id], "who asks again has heard of it"


async def test_others_get_what_it_let_lapse(database: Database, queue: Queue, tick: Tick) -> None:
    made = await queue.enqueue("mail")
    held, other = await dial(database, "a", socket=True), await dial(database, "b", socket=True)
    await take(database, held)
    await confirmations_are_due(database)
    await tick()
    assert found(await offer(database, held, other)) == {held.incarnation: (), other.incarnation: (made.id,)}


async def test_a_claim_that_finds_the_lapse_itself_does_not_give_it_to_the_same(
    database: Database, queue: Queue
) -> None:
    """Claims do the housekeeping on their way."""
    await queue.enqueue("mail")
    runner = await dial(database)
    await take(database, runner)
    await confirmations_are_due(database)
    await database.value(DUE)
    assert await verdicts(database, runner) == ["lapsed"]


async def test_a_new_socket_has_not_let_anything_lapse(database: Database, queue: Queue, tick: Tick) -> None:
    await queue.enqueue("mail")
    runner = await dial(database, socket=True)
    await take(database, runner)
    await confirmations_are_due(database)
    await tick()
    again = await Dialling(database).resume(await token_of(database, runner), runner.incarnation, {})
    assert again is not None
    assert await verdicts(database, runner) == ["moved"]
    assert await verdicts(database, again) == ["ok"]


async def test_one_that_is_just_saying_something_is_passed_by(
    database: Database, queue: Queue, connect: Connect, tick: Tick
) -> None:
    """Heartbeats lock many rows, in an order that is not the claim's: it must not wait for them."""
    await queue.enqueue("mail")
    runner = await dial(database)
    await take(database, runner)
    await confirmations_are_due(database)
    await tick()
    beating = await connect()
    await beating.execute("BEGIN")
    await beating.fetch("SELECT FROM paceline.incarnation WHERE id = $1 FOR NO KEY UPDATE", runner.incarnation)
    async with asyncio.timeout(20):
        told = await Dialling(database).offer(runner.pool, {by(runner): 1})
    assert told.offers == ()
    await beating.execute("COMMIT")
    assert await verdicts(database, runner) == ["lapsed"]


async def test_it_is_counted_once_and_by_a_gateway_of_its_pool(
    database: Database, queue: Queue, login: Login, tick: Tick
) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 2)
    await Queue(database, "shop").enqueue("mail")
    ours, theirs = Dialling(await login("gateway", "builds")), Dialling(await login("gateway", "shop"))
    await take(database, await dial(database), 2)
    await confirmations_are_due(database)
    await tick()
    assert [await each.take_unconfirmed() for each in (theirs, ours, ours)] == [0, 2, 0]
