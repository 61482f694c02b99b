"""A request with a key of its own is done once, however often and from however many sides it comes."""

import asyncio
from datetime import timedelta

import pytest

from paceline.database import Database
from paceline.errors import InvalidInputError, NotAllowedError, PoolFullError, RequestMismatchError
from paceline.job import NewJob
from paceline.once import enqueue_once
from paceline.queue import Queue
from paceline.reading import Reader
from support.pg import Connect, Login, Tick, behind, waits_for_a_lock

MAIL = NewJob(kind="mail")
ENQUEUE = """
SELECT id, created FROM paceline.enqueue_once('k', sha256('order'), 60, NULL, 'builds', '{mail}', '{1}')"""


async def live(database: Database) -> int:
    return int(await database.value("SELECT count(*) FROM paceline.job"))


async def test_the_second_of_two_at_once_waits_and_gets_the_jobs_of_the_first(queue: Queue, connect: Connect) -> None:
    first, watcher, second = await connect(), await connect(), await connect()
    await queue.enqueue("mail")
    await first.execute("BEGIN")
    (made,) = await first.fetch(ENQUEUE)
    (again,) = await behind(first, watcher, second, ENQUEUE)
    assert (made["created"], again["created"]) == (True, False)
    assert made["id"] == again["id"]
    assert await live(queue.database) == 2


async def test_the_second_does_it_when_the_first_has_not(queue: Queue, connect: Connect) -> None:
    first, watcher, second = await connect(), await connect(), await connect()
    await queue.enqueue("mail")
    await first.execute("BEGIN")
    await first.fetch(ENQUEUE)
    waiting = asyncio.create_task(second.fetch(ENQUEUE))
    await waits_for_a_lock(watcher, second.get_server_pid())
    await first.execute("ROLLBACK")
    assert [row["created"] for row in await waiting] == [True]
    assert await live(queue.database) == 2


async def test_many_jobs_of_one_key_come_back_in_their_order(queue: Queue) -> None:
    jobs = [NewJob(kind="mail", payload=number, priority=number % 10) for number in range(50)]
    made = await enqueue_once(queue.database, "builds", jobs, key="k", request=b"fifty")
    again = await enqueue_once(queue.database, "builds", jobs, key="k", request=b"fifty")
    assert [each.id for each in again] == [each.id for each in made]
    assert {each.created for each in made} == {True}
    assert {each.created for each in again} == {False}
    reader = Reader(queue.database)
    assert [(await reader.job_detail(each.id)).payload for each in made] == list(range(50))  # type: ignore[union-attr]


async def test_the_same_key_for_another_request_is_refused(queue: Queue) -> None:
    await enqueue_once(queue.database, "builds", [MAIL], key="k", request=b"one")
    with pytest.raises(RequestMismatchError, match=r'key "k" was used for another request: give each request a key'):
        await enqueue_once(queue.database, "builds", [MAIL], key="k", request=b"two")
    assert await live(queue.database) == 1


async def test_each_pool_has_keys_of_its_own(queue: Queue) -> None:
    for pool in ("builds", "shop"):
        (made,) = await enqueue_once(queue.database, pool, [MAIL], key="k", request=pool.encode())
        assert made.created


async def test_without_a_key_nothing_is_remembered(queue: Queue) -> None:
    for _ in range(2):
        (made,) = await enqueue_once(queue.database, "builds", [MAIL])
        assert made.created
    assert await queue.database.value("SELECT count(*) FROM paceline.once") == 0


async def test_a_day_later_the_key_is_new_and_until_then_it_lasts(queue: Queue) -> None:
    (made,) = await enqueue_once(queue.database, "builds", [MAIL], key="k")
    left = await queue.database.value("SELECT until - clock_timestamp() FROM paceline.once")
    assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24)
    await queue.database.value("UPDATE paceline.once SET until = clock_timestamp()")
    (later,) = await enqueue_once(queue.database, "builds", [MAIL], key="k", request=b"another one")
    assert later.created
    assert later.id != made.id


async def test_what_is_a_day_old_is_forgotten_by_the_slow_housekeeping(queue: Queue, tick: Tick) -> None:
    for key in ("old", "young"):
        await enqueue_once(queue.database, "builds", [MAIL], key=key)
    await queue.database.value("UPDATE paceline.once SET until = clock_timestamp() WHERE key = 'old'")
    await queue.database.value("UPDATE paceline.tick SET slow_at = '-infinity'")
    await tick()
    assert [row["key"] for row in await queue.database.rows("SELECT key FROM paceline.once")] == ["young"]


async def test_forgetting_passes_by_a_key_that_is_just_being_used(queue: Queue, tick: Tick, connect: Connect) -> None:
    for key in ("used", "free"):
        await enqueue_once(queue.database, "builds", [MAIL], key=key)
    await queue.database.value("UPDATE paceline.once SET until = clock_timestamp()")
    await queue.database.value("UPDATE paceline.tick SET slow_at = '-infinity'")
    user = await connect()
    await user.execute("BEGIN")
    await user.fetch("SELECT FROM paceline.once WHERE key = 'used' FOR UPDATE")
    await tick()
    assert [row["key"] for row in await queue.database.rows("SELECT key FROM paceline.once")] == ["used"]


async def test_a_refused_request_leaves_its_key_free(queue: Queue) -> None:
    await queue.enqueue("mail")
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 1)")
    with pytest.raises(PoolFullError):
        await enqueue_once(queue.database, "builds", [MAIL], key="k")
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 2)")
    (made,) = await enqueue_once(queue.database, "builds", [MAIL], key="k")
    assert made.created


async def test_a_login_of_another_pool_learns_nothing_of_a_key(queue: Queue, login: Login) -> None:
    await enqueue_once(queue.database, "builds", [MAIL], key="k")
    await Queue(queue.database, "shop").enqueue("mail")
    with pytest.raises(NotAllowedError):
        await enqueue_once(await login("producer", "shop"), "builds", [MAIL], key="k")
    (own,) = await enqueue_once(await login("gateway"), "builds", [MAIL], key="k")
    assert not own.created


@pytest.mark.parametrize("key", ["", "x" * 513, "a\0b"])
async def test_a_key_that_cannot_be_kept_is_refused(queue: Queue, key: str) -> None:
    with pytest.raises(InvalidInputError, match="idempotency key must have 1 to 512 characters"):
        await enqueue_once(queue.database, "builds", [MAIL], key=key)
