"""The connection to a gateway where no WebSocket comes through: a long poll, and a request for whatever is said."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Final

from paceline.claims import Beat
from paceline.errors import GatewayError, InvalidInputError, NotFoundError, PacelineError
from paceline_runner.gateway import frames
from paceline_runner.gateway.api import Api, NotAuthorizedError
from paceline_runner.gateway.frames import Report
from paceline_runner.gateway.seat import GatewaySeat
from paceline_runner.gateway.wire import Ending

WAIT: Final = 30
SLACK: Final = 15.0
"""Seconds for which the answer to a poll may be late."""
BREATH: Final = 0.5
"""Seconds before the next poll, if this one was answered at once with nothing."""
log = logging.getLogger("paceline.runner")


class PollWire(Ending):
    """Polls for as long as it is open."""

    ordered = False

    def __init__(self, api: Api, seat: GatewaySeat, wake: Callable[[], None], told: Callable[[Beat], None]) -> None:
        """Begin."""
        super().__init__(api, seat, told)
        self._waiting: asyncio.Task[dict[str, Any]] | None = None
        self._wanted = 0
        """By the poll that is waiting."""
        self._reports: set[asyncio.Task[bool]] = set()
        seat.attach(self, wake)
        self._polling = asyncio.create_task(self._poll())

    async def heartbeat(self) -> Beat:
        """Keep the lease, and confirm the runs."""
        return await self._seat.beat_by_request()

    def post(self, report: Report) -> "asyncio.Future[bool]":
        """Say it."""
        task = asyncio.create_task(self._post(report))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)
        return task

    def ready(self, want: int) -> None:
        """The next poll says it. Nothing is lost with one that wanted nothing; with others, what nobody wants now."""
        if self._waiting is not None and not (want and self._wanted):
            self._waiting.cancel()

    def close(self) -> None:
        """End it at once."""
        if not self.closed:
            self._closed.set()
            self._seat.detach(self)
            self._polling.cancel()

    async def _post(self, report: Report) -> bool:
        try:
            await self._api.call("POST", report.path, report.body(self._seat.id))
        except NotFoundError:
            return False
        except InvalidInputError as error:
            log.error("%s", error)  # noqa: TRY400 -- a traceback would not help
            return False
        except NotAuthorizedError as error:
            raise GatewayError(str(error)) from error  # the next heartbeat says what that means
        return True

    async def _poll(self) -> None:
        try:
            while True:
                began = time.monotonic()
                found = await self._found()
                if found is None:
                    continue
                for run in found["runs"]:
                    self._seat.came(run)
                self._seat.cancel(frames.ids(found["cancelled"]))
                if found["verdict"] == "fenced" or (found["verdict"] == "draining" and not self._seat.draining):
                    self._told(await self.heartbeat())  # which says more: the cause, and whether there is a hurry
                elif not found["runs"] and time.monotonic() - began < BREATH:
                    await asyncio.sleep(BREATH * random.uniform(1, 2))  # noqa: S311 -- not all at once
        except NotFoundError:
            self._told(Beat("fenced", cause="LeaseExpired"))
        except PacelineError as error:
            log.warning("no runs: %s", error)
        finally:
            self.close()

    async def _found(self) -> dict[str, Any] | None:
        """What a poll brought; None where it was given up for one that wants something."""
        self._wanted = self._seat.credit
        query = {"incarnation": str(self._seat.id), "want": str(self._wanted), "wait": str(WAIT)}
        poll = asyncio.create_task(self._api.call("GET", "/runner/runs", query=query, seconds=WAIT + SLACK))
        self._waiting = poll
        try:
            await asyncio.wait({poll})
        finally:
            self._waiting = None
            poll.cancel()
        return None if poll.cancelled() else poll.result()
