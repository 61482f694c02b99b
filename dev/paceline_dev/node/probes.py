"""Probes: how often to ask, and how many answers in a row change the mind (pkg/kubelet/prober/worker.go)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from paceline_dev.node.spec import Action, Probe

Perform = Callable[[Action], Awaitable[str]]


@dataclass(slots=True)
class Streak:
    """Counts equal answers in a row."""

    probe: Probe
    well: bool | None = None
    length: int = 0

    def add(self, well: bool) -> bool | None:
        """The verdict, once there were enough answers of one kind; None while there were not."""
        self.length = self.length + 1 if well is self.well else 1
        self.well = well
        return well if self.length >= (self.probe.success if well else self.probe.failure) else None


async def verdicts(probe: Probe, perform: Perform, tell: Callable[[bool, str], bool]) -> None:
    """Ask for ever and tell each verdict, with the words of the last failure; stop when `tell` says so."""
    await asyncio.sleep(probe.delay)
    streak = Streak(probe)
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        words = await ask(probe, perform)
        verdict = streak.add(not words)
        if verdict is not None and tell(verdict, words):
            return
        await asyncio.sleep(max(began + probe.period - loop.time(), 0))


async def ask(probe: Probe, perform: Perform) -> str:
    """Ask once; no answer in time is a bad one."""
    try:
        async with asyncio.timeout(probe.timeout):
            return await perform(probe.action)
    except TimeoutError:
        return f"no answer within {probe.timeout:g}s"
