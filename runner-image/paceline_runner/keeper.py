"""The thread that keeps the lease: its own loop, its own connection, so that no handler can hold it up.

When the last accepted heartbeat is too old, somebody else may have our jobs. Then the children are killed and, if a job
is held, the process ends at once: whatever it would do from then on does not count any more.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from paceline.claims import Beat
from paceline.errors import PacelineError
from paceline_runner.ports import Lifeline, Way
from paceline_runner.settings import MARGIN, Settings
from paceline_runner.signals import leave_to_main
from paceline_runner.tenure import Tenure

FENCED: Final = 70
"""The exit code of a runner that had to let go of its jobs."""
LOOK: Final = 0.2
FOR_GOOD: Final = {
    "Replaced": "another process has registered under its name",
    "Revoked": "its login or its token may no longer be a runner of the pool",
    "GroupDeleted": "its group was deleted",
}
"""Ends of a registration after which a new one would be wrong."""
log = logging.getLogger("paceline.runner")


@dataclass(frozen=True, slots=True)
class Stuck:
    """The main loop does not turn, and somebody cannot wait for it any longer."""

    reason: str
    leaving: bool
    """The runner was told to leave: its jobs go back without a charge."""


class Keeper(threading.Thread):
    """Runs coroutines beside the main loop: the heartbeat, and the port for probes."""

    def __init__(
        self,
        settings: Settings,
        way: Way,
        loop: asyncio.AbstractEventLoop,
        *,
        holding: Callable[[], int],
        kill: Callable[[], None],
        renewed: Callable[[float], None],
        beaten: Callable[[Beat], None],
        stuck: Callable[[], Stuck | None],
    ) -> None:
        """`kill` ends the children, `renewed` lets them live longer; all may be called from this thread.

        `loop` is this thread's, and the way's.
        """
        super().__init__(name="paceline-keeper", daemon=True)
        self._settings, self._way, self._loop = settings, way, loop
        self._holding, self._kill, self._renewed, self._beaten = holding, kill, renewed, beaten
        self._stuck = stuck
        self.last_beat: float | None = None
        """When the last heartbeat was accepted, by the wall clock: for people."""

    def run(self) -> None:
        """The thread's own work."""
        leave_to_main()
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in this thread's loop."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def keep(self, tenure: Tenure) -> None:
        """Keep a registration alive until it ends."""
        self.do(self._keep(tenure))

    async def _keep(self, tenure: Tenure) -> None:
        beating = asyncio.create_task(self._beat(tenure))
        while tenure.cause is None:
            left = tenure.deadline - time.monotonic()
            if left <= 0:
                self._lost(tenure, "LeaseExpired")
            if stuck := self._stuck():
                beating.cancel()  # it would hear of the end before we have said why
                await self._abandon(tenure, stuck)
            await asyncio.sleep(max(0.0, min(left, LOOK)))
        beating.cancel()

    def _lost(self, tenure: Tenure, cause: str) -> None:
        """It is over. Whoever holds a job must not go on with it, not even to the end of this line of code."""
        if tenure.cause == "Deregistered":
            return
        self._kill()
        if self._holding():
            self.die(why(cause))
        tenure.end(cause)

    def die(self, reason: str, code: int = FENCED) -> NoReturn:
        """End the process here and now."""
        log.critical("runner %s %s: it lets go of its jobs and ends", self._way.runner, reason)
        for stream in (sys.stderr, sys.stdout):
            stream.flush()
        os._exit(code)

    async def _abandon(self, tenure: Tenure, stuck: Stuck) -> NoReturn:
        """A handler holds the main loop, and nothing can be told to it any more: all jobs go to others."""
        self._kill()
        try:
            async with asyncio.timeout(self._settings.heartbeat):
                line = await self._way.lifeline(tenure.incarnation, lambda: None, lambda _: None)
                await line.abandon(leaving=stuck.leaving)
        except (PacelineError, TimeoutError) as error:
            log.warning("could not give the jobs back: %s", error)
        self.die(stuck.reason, 0 if stuck.leaving else FENCED)

    async def _beat(self, tenure: Tenure) -> None:
        """Heartbeats, on a connection that also tells of work."""
        line: Lifeline | None = None
        interval, pauses = self._settings.heartbeat, self._way.pauses()
        try:
            while tenure.cause is None:
                try:
                    line = await self._connected(line, tenure)
                    sent = time.monotonic()
                    async with asyncio.timeout(interval):
                        beat = await line.heartbeat()
                except (PacelineError, TimeoutError) as error:
                    tenure.listening = False
                    if line is not None:
                        line.close()
                        log.warning("no heartbeat: %s", str(error) or f"{self._way.place} does not answer")
                    line = None
                    await asyncio.sleep(min(next(pauses), interval / 5))
                    continue
                self._heard(tenure, beat, sent)
                pauses = self._way.pauses()
                await line.until_closed(sent + interval - time.monotonic())
        finally:
            if line is not None:
                line.close()

    async def _connected(self, line: Lifeline | None, tenure: Tenure) -> Lifeline:
        if line is not None and not line.closed:
            return line
        line = await self._way.lifeline(tenure.incarnation, tenure.wake, lambda beat: self._told(tenure, beat))
        tenure.listening = line.listening
        tenure.wake()  # what came in between was not heard
        return line

    def _heard(self, tenure: Tenure, beat: Beat, sent: float) -> None:
        if beat.verdict != "fenced":
            deadline = sent + tenure.lease - MARGIN
            tenure.renew(deadline)
            self._renewed(deadline)
            self.last_beat = time.time()
        self._told(tenure, beat)

    def _told(self, tenure: Tenure, beat: Beat) -> None:
        """What is said of the registration, with a heartbeat or between two."""
        if beat.verdict == "fenced":
            self._lost(tenure, beat.cause or "LeaseExpired")
        elif tenure.cause is None:
            tenure.leave = beat.leave
            self._beaten(beat)


def why(cause: str) -> str:
    """The end of a registration, for people."""
    if cause == "LeaseExpired":
        return "was not heard of for too long, somebody else may have its jobs"
    return f"was ended ({FOR_GOOD.get(cause, cause)})"
