"""Who puts jobs in: at a rate, as they come in life, or so many that the queue is never empty."""

import asyncio
import contextlib
import itertools
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import aiohttp
from pydantic import JsonValue

from paceline import NewJob, Queue
from paceline.tokens import Tokens
from paceline_bench.assess.place import Place
from paceline_bench.errors import NotMeasuredError
from paceline_bench.systems import NOOP, PAYLOAD
from paceline_bench.systems.paceline import POOL

DEPTH: Final = 1_000
"""So many wait, flat out."""
BATCH: Final = 500
LOOK: Final = 0.02
SECONDS: Final = 60.0
Produce = Callable[[int], Awaitable[None]]


@contextlib.asynccontextmanager
async def producer(place: Place) -> AsyncIterator[Produce]:
    """By the way that runners come, too: a gateway is given its jobs by HTTP."""
    if place.doors:
        async with _http(place) as produce:
            yield produce
    else:
        queue = Queue(place.producers, POOL)

        async def produce_directly(jobs: int) -> None:
            made = [NewJob(kind=NOOP, payload=_payload()) for _ in range(jobs)]
            await (queue.enqueue(made[0]) if jobs == 1 else queue.enqueue_many(made))

        yield produce_directly


@contextlib.asynccontextmanager
async def _http(place: Place) -> AsyncIterator[Produce]:
    headers = {"Authorization": f"Bearer {await Tokens(place.producers).create('pk', pool=POOL)}"}
    timeout, doors = aiohttp.ClientTimeout(total=SECONDS), itertools.cycle(place.doors)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:

        async def produce(jobs: int) -> None:
            made = [{"kind": NOOP, "payload": _payload()} for _ in range(jobs)]
            body = made[0] if jobs == 1 else {"jobs": made}
            async with session.post(f"{next(doors).url}/v1/jobs", json=body) as answer:
                if answer.status != 201:
                    raise NotMeasuredError(f"a gateway answered {answer.status} to a producer")

        yield produce


def _payload() -> dict[str, JsonValue]:
    return {**PAYLOAD, "at": time.time()}  # those that poll a gateway say how long after this they got it


@dataclass(slots=True)
class Begun:
    """How many jobs somebody has begun to enqueue, and when the next one comes."""

    jobs: int = 0
    next: float = math.inf
    pace: float = 0.0
    """Jobs a second."""

    def due(self, now: float) -> int:
        """How many had come by then, those included that nobody found the time to begin."""
        return self.jobs if now < self.next else self.jobs + 1 + int((now - self.next) * self.pace)


async def paced(produce: Produce, rate: int, begun: Begun) -> None:
    """One by one, at random, so many a minute on average, until it is cancelled.

    A slow answer does not hold up the next: jobs just come.
    """
    chance = random.Random(0)  # noqa: S311 -- no secret; the same for everybody
    begun.next, begun.pace = time.monotonic(), rate / 60
    sent = set[asyncio.Future[None]]()
    try:
        while True:
            await asyncio.sleep(max(0.0, begun.next - time.monotonic()))
            sent.add(asyncio.ensure_future(produce(1)))
            begun.jobs += 1
            begun.next += chance.expovariate(begun.pace)
            over = {each for each in sent if each.done()}
            sent -= over
            for each in over:
                each.result()
    finally:
        await asyncio.gather(*sent)


async def flat_out(produce: Produce, ready: Callable[[], Awaitable[int]]) -> None:
    """As many as are taken, until it is cancelled: about as many wait all the time."""
    while True:
        if (short := DEPTH - await ready()) > 0:
            await produce(min(short, BATCH))
        else:
            await asyncio.sleep(LOOK)
