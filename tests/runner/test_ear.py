"""Of many runners that hear a NOTIFY few look at once, and all soon."""

import asyncio
import time
from functools import partial

from paceline.claims import Incarnation, Registration
from paceline.queue import Queue
from paceline_runner.ear import AT_ONCE, LATER, Ear
from runner.process import PATIENCE, StartRunner, eventually, until

MANY = 250
SOON = MANY / LATER
WAITS = "SELECT count(*) = 1 FROM paceline.waiter"


class Herd:
    """Many ears that hear the same, and how often each has looked."""

    def __init__(self, many: int) -> None:
        self.looks = [0] * many
        self.all = asyncio.Event()
        self.ears = [Ear(partial(self._look, number), lambda: many) for number in range(many)]

    def _look(self, number: int) -> None:
        self.looks[number] += 1
        if all(self.looks):
            self.all.set()

    def hear(self) -> None:
        for each in self.ears:
            each.hear()


async def _others(queue: Queue, many: int) -> Incarnation:
    """So many that are registered and never ask; one of them."""
    who = [Registration(name=f"idle-{number}", pool="builds", kinds=("mail",)) for number in range(many)]
    return [await Incarnation.register(queue.database, each) for each in who][-1]


async def test_of_many_few_look_at_once_and_each_soon_however_often_it_heard() -> None:
    herd = Herd(MANY)
    for _ in range(5):
        herd.hear()
    at_once = sum(herd.looks)
    assert 0 < at_once < 5 * AT_ONCE * 3, "four of them each time, on average"
    soon = asyncio.get_running_loop().time() + SOON
    assert max(each._later.when() for each in herd.ears if each._later) <= soon
    async with asyncio.timeout(PATIENCE):
        await herd.all.wait()
    assert sum(herd.looks) <= MANY + at_once, "once for all that it has heard"


async def test_what_is_heard_after_a_late_look_is_looked_after_again() -> None:
    herd = Herd(MANY)
    for _ in range(2):
        herd.hear()
        async with asyncio.timeout(PATIENCE):
            await herd.all.wait()
        herd.looks, herd.all = [0] * MANY, asyncio.Event()


async def test_few_look_all_at_once() -> None:
    herd = Herd(AT_ONCE)
    herd.hear()
    assert herd.looks == [1] * AT_ONCE


async def test_who_is_closed_looks_no_more() -> None:
    herd = Herd(MANY)
    herd.hear()
    at_once = sum(herd.looks)
    for each in herd.ears:
        each.close()
    await asyncio.sleep(SOON * 2)
    assert sum(herd.looks) == at_once


async def test_a_wake_up_makes_few_of_many_runners_ask(queue: Queue, start: StartRunner) -> None:
    one = await _others(queue, 500)
    runner = await start("r1")
    await eventually(lambda: queue.database.value(WAITS), "it asks to be woken")

    before = await runner.steps()
    for _ in range(50):
        await queue.database.value("SELECT pg_notify($1, '')", one.channel)
        await asyncio.sleep(0.02)
    assert await runner.steps() - before < 15, "a late look or two, and one of its own"


async def test_one_among_many_idle_runners_begins_a_job_long_before_it_would_have_looked_by_itself(
    queue: Queue, start: StartRunner
) -> None:
    await _others(queue, 60)
    await start("r1")
    await eventually(lambda: queue.database.value(WAITS), "it asks to be woken")
    waits = []
    for _ in range(6):
        began = time.monotonic()
        made = await queue.enqueue("mail", {"to": "ann"})
        await until(queue, made.id, "done")
        waits.append(time.monotonic() - began)
    assert sorted(waits)[3] < 2.5, "by itself it looks four or five seconds after the last job"
