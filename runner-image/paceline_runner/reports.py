"""Progress and extensions on their way to those who watch: a few times a second, whatever the handlers say."""

import asyncio
import logging
from typing import Final

from paceline.errors import PacelineError
from paceline_runner.ports import Seat
from paceline_runner.running import Running, Stop
from paceline_runner.workbench import Workbench

PAUSE: Final = 0.25
log = logging.getLogger("paceline.runner")


class Reports:
    """Collects what handlers say about their attempts."""

    def __init__(self, seat: Seat, bench: Workbench) -> None:
        """For one registration."""
        self._seat, self._bench = seat, bench
        self._about: set[Running] = set()
        self._some = asyncio.Event()
        bench.on_report = self._add

    def _add(self, running: Running) -> None:
        self._about.add(running)
        self._some.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._some.wait()
            self._some.clear()
            about, self._about = self._about, set()
            for running in about:
                if not running.settled:
                    await self._send(running)
            await asyncio.sleep(PAUSE)

    async def _send(self, running: Running) -> None:
        by, running.extended = running.extended, None
        said, running.said = running.said, ()
        try:
            mine = by is None or await self._seat.extend(running.job, by)
            for value in said:
                mine = await self._seat.progress(running.job, value) and mine
        except PacelineError as error:
            log.warning("what job %s says of itself is not stored: %s", running.job.id, error)
            return
        if not mine:
            self._bench.stop(running, Stop.LOST)
