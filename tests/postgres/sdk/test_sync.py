"""The queue for code that is not async: the same calls, from any thread, and a clear end."""

import inspect
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from paceline.database import Database
from paceline.errors import DatabaseError, InvalidInputError, SchemaError
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.sync import ClosedError, SyncQueue


@pytest.fixture
def sync(migrated: str) -> Iterator[SyncQueue]:
    with SyncQueue.connect(migrated, "builds", connections=4) as opened:
        yield opened


def _methods(kind: type) -> dict[str, list[str]]:
    return {
        name: [each for each in inspect.signature(value).parameters if each not in ("self", "connection")]
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def test_it_has_every_method_of_the_async_queue() -> None:
    assert _methods(SyncQueue) == _methods(Queue)


async def test_jobs_go_in_and_out(sync: SyncQueue, database: Database) -> None:
    first = sync.enqueue("mail", {"n": 1})
    others = sync.enqueue_many([NewJob(kind="mail", dedupe="d"), NewJob(kind="mail", dedupe="d")])
    assert [first.created, *(each.created for each in others)] == [True, True, False]
    assert sync.cancel(first.id) == "cancelled"
    assert sync.cancel(first.id) == "finished"
    assert sync.redrive([first.id]) == sync.purge([first.id]) == []
    sync.pause()
    assert await database.value("SELECT paused FROM paceline.pool WHERE name = 'builds'") is True
    sync.resume()
    assert await database.value("SELECT paused FROM paceline.pool WHERE name = 'builds'") is False
    assert sync.tick() is True
    assert await database.value("SELECT count(*) FROM paceline.job") == 1
    assert sync.pool == "builds"


async def test_many_threads_share_one(sync: SyncQueue, database: Database) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda number: sync.enqueue("mail", number), range(200)))
    assert len({each.id for each in made}) == 200
    assert await database.value("SELECT count(*) FROM paceline.job") == 200


def test_an_error_arrives_as_itself(sync: SyncQueue) -> None:
    with pytest.raises(InvalidInputError, match="given twice"):
        sync.enqueue(NewJob(kind="mail"), {"n": 1})


def test_after_the_end_every_call_is_refused(migrated: str) -> None:
    with SyncQueue(migrated) as queue:
        queue.enqueue("mail")
    queue.close()
    for call in (lambda: queue.enqueue("mail"), lambda: queue.enqueue_many([]), queue.tick, queue.pause):
        with pytest.raises(ClosedError, match="this queue is closed: open a new one"):
            call()


async def test_the_end_waits_for_calls_of_other_threads(migrated: str, database: Database) -> None:
    queue = SyncQueue(migrated, "builds", connections=1)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(queue.enqueue, "mail", number) for number in range(40)]
        calls[0].result()
        queue.close()
        done = [call for call in calls if not isinstance(call.exception(), ClosedError)]
    assert all(call.result().created for call in done)
    assert await database.value("SELECT count(*) FROM paceline.job") == len(done)


def test_its_thread_ends_with_it(migrated: str) -> None:
    before = set(threading.enumerate())
    with SyncQueue(migrated):
        (own,) = set(threading.enumerate()) - before
    assert not own.is_alive()


def test_one_that_cannot_connect_leaves_no_thread_behind(migrated: str) -> None:
    before = set(threading.enumerate())
    with pytest.raises(DatabaseError, match="does not exist: create it, or correct the URL"):
        SyncQueue(f"{migrated}_not_there")
    assert set(threading.enumerate()) == before


def test_a_database_without_our_schema_is_told(empty_database: str) -> None:
    with SyncQueue(empty_database) as queue, pytest.raises(SchemaError, match="run: paceline migrate"):
        queue.enqueue("mail")


def test_a_forked_process_is_told_to_open_its_own(sync: SyncQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real fork of a process with threads would be a gamble; what differs in the child is the process id."""
    real = os.getpid()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: real + 1)
        with pytest.raises(ClosedError, match="open one in each process"):
            sync.enqueue("mail")
    assert sync.enqueue("mail").created
