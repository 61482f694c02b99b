"""Runs an application's handlers on the jobs of an in-memory queue, one after the other, in the test's own task."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import isawaitable
from types import MappingProxyType
from typing import Any, Final

from pydantic import JsonValue

from paceline.claims import Failed, Finished, Registration
from paceline.errors import InvalidInputError, PacelineError
from paceline.handlers import Jobs
from paceline.invoke import Scope, invoke, settle
from paceline.job import Claimed, Fence, JobId
from paceline.testing.ledger import Row, State
from paceline.testing.memory import MemoryQueue, NotInMemoryError
from paceline.testing.memory_runner import MemoryRunner

Outsides = Mapping[str, Callable[[JsonValue], Any]]
"""By kind: what a command or a server would make of a payload, as a function, async or not."""
_NONE: Final[Outsides] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WorkedOff:
    """What became of the jobs, in the order in which they ran."""

    done: tuple[JobId, ...] = ()
    failed: tuple[JobId, ...] = ()
    """Tries that failed and will be made again; a job is here once for each."""
    dead: tuple[JobId, ...] = ()
    cancelled: tuple[JobId, ...] = ()
    left: tuple[JobId, ...] = ()
    """Ready, and not run: their kind has no handler, or the pool is paused."""


@dataclass(frozen=True, slots=True)
class InlineContext:
    """What a handler is given here; see `paceline.handlers.Context`."""

    job_id: JobId
    fence: Fence
    tries: int
    log: logging.Logger
    row: Row = field(repr=False)

    @property
    def should_stop(self) -> bool:
        """Somebody cancelled the job."""
        return self.row.cancel

    def progress(self, value: JsonValue) -> None:
        """Kept with the job; the last value counts."""
        self.row.progress = value

    def extend(self, by: timedelta) -> None:
        """Nothing is timed here."""


async def work_off(queue: MemoryQueue, handlers: Jobs, *, most: int = 10_000, outside: Outsides = _NONE) -> WorkedOff:
    """Run every job that is ready, and those that become ready by it, until none is left.

    A failed job is tried again as its retry policy says: after a wait it is for a later call, once the clock has moved.
    Tags keep nothing away. Timeouts and isolation are a runner's business: each handler runs to its end right here.
    Commands and servers are not called: `outside` says what they would answer. Providers are closed at the end.
    """
    ran: dict[State | None, list[JobId]] = defaultdict(list)
    async with Scope(handlers) as scope:
        for _ in range(most):
            ran_now = await _run_one(queue, scope, outside)
            if ran_now is None:
                break
            ran[queue.state_of(ran_now)].append(ran_now)
        else:
            raise PacelineError(f"{most} jobs have run and more may be ready (does a handler enqueue itself for ever?)")
    left = tuple(job.id for job in queue.jobs("ready"))
    return WorkedOff(
        tuple(ran["done"]), tuple(ran["scheduled"]), tuple(ran["dead"]), tuple(ran["cancelled"]), left
    )  # fmt: skip


async def _run_one(queue: MemoryQueue, scope: Scope, outside: Outsides) -> JobId | None:
    """The job that ran; every one has a runner of its own, which has all tags that are asked for by then."""
    live = queue.memory.ledger.live
    who = Registration(
        name=f"work-off-{queue.pool}",
        pool=queue.pool,
        kinds=scope.jobs.kinds,
        tags=tuple({tag for row in live.values() for tag in row.asked.tags}),
        lease=timedelta.max,  # the handler may move the clock
    )
    runner = await MemoryRunner.register(queue, who)
    try:
        for job in (await runner.step(1)).jobs:
            await _run(runner, scope, job, live[job.id], outside)
            return job.id
        return None
    finally:
        await runner.deregister()


async def _run(runner: MemoryRunner, scope: Scope, job: Claimed, row: Row, outside: Outsides) -> None:
    handler = scope.jobs.get(job.kind)
    if handler.outside is not None and job.kind not in outside:
        raise NotInMemoryError(f'"{job.kind}", {handler.place} (say what it answers: outside={{"{job.kind}": ...}})')
    context = InlineContext(job.id, job.fence, job.tries, logging.getLogger(f"paceline.jobs.{job.kind}"), row)
    try:
        if handler.outside is None:
            result = await invoke(scope, handler, job, context)
        else:
            result = outside[job.kind](job.payload)
            result = await result if isawaitable(result) else result
    except Exception as error:  # whatever a handler raises is the job's failure, not the test's
        await runner.fail([Failed(job, *settle(handler, job, error))])
        return
    try:
        text = handler.dump(result)
    except InvalidInputError as error:
        await runner.fail([Failed(job, str(error))])
        return
    await runner.step(0, [Finished(job, text)])
