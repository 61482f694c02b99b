"""How many runners the jobs want, before any rule has its say."""

from dataclasses import dataclass
from typing import Final

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.signals import Signals, known

MICRO: Final = 1_000_000
"""Slots are counted in millionths from here on: 3.0000000000000004 slots are 3, and no float error adds a runner."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What the queue wants."""

    runners: int
    """Whole runners: those that the jobs need, the warm ones, and the tainted ones that are in the way."""
    slots: int
    """Millionths of slots that the jobs need on runners without a taint."""
    unit: int
    """Millionths of slots that one runner shall fill, times 100."""
    beside: int
    """Of `runners`: those that are no answer to jobs, warm or tainted."""
    grows_in: float | None
    """Seconds until the same jobs want one runner more, because the oldest of them comes closer to its time."""
    text: str

    def ratio(self, current: int) -> float:
        """Demand as a share of a size, as the HPA computes it: not rounded up."""
        return (self.slots * 100 + self.beside * self.unit) / (self.unit * current)


def demand_of(spec: Autoscaling, slots: int, signals: Signals) -> Demand:
    """The formula of the reference page, in integers once the slots are known."""
    ready, running = max(0, signals.ready), max(0, signals.running)
    tainted = max(0, signals.tainted)
    for_tainted = min(max(0, signals.tolerating), ready) if tainted else 0
    on_tainted = min(max(0, signals.tainted_running), running) if tainted else 0
    free_ready, free_running = ready - for_tainted, running - on_tainted
    needed, pace = _slots(spec.targets.wait_seconds, free_ready, free_running, signals)
    unit = max(1, slots) * spec.targets.utilization * MICRO
    working = -(-needed * 100 // unit)
    beside = spec.min_idle
    if tainted and (working or beside or for_tainted or on_tainted):
        beside += tainted
    grows_in = None
    if pace is not None and working * unit < (free_ready + free_running) * MICRO * 100:
        grows_in = pace.reaches(working * unit / 100 / MICRO)
    text = f"{ready} ready and {running} running want {needed / MICRO:g} {'slot' if needed == MICRO else 'slots'}"
    if beside:
        text += f", {beside} {'runner' if beside == 1 else 'runners'} beside them"
    return Demand(working + beside, needed, unit, beside, grows_in, text)


@dataclass(frozen=True, slots=True)
class _Pace:
    """Jobs that may wait: how much work comes in, how much is there, and how soon it must be begun."""

    inflow: float
    backlog: float
    left: float

    @property
    def slots(self) -> float:
        return self.inflow + self.backlog / self.left

    def reaches(self, slots: float) -> float | None:
        """Seconds until more than so many slots are wanted."""
        if self.backlog <= 0 or slots <= self.inflow:
            return None
        return max(0.0, self.left - self.backlog / (slots - self.inflow))


def _slots(wait: int, ready: int, running: int, signals: Signals) -> tuple[int, _Pace | None]:
    """Millionths of slots, and the pace that they come from where waiting is allowed."""
    every_job = running + ready
    service = known(signals.service_seconds)
    left = wait - (known(signals.oldest_seconds) or 0.0)
    if wait == 0 or service is None or left <= 0:
        return every_job * MICRO, None
    pace = _Pace((known(signals.arrival_rate) or 0.0) * service, ready * service, left)
    wanted = pace.slots
    if not wanted < every_job:
        return every_job * MICRO, None
    least = max(running, 1 if ready else 0)
    return max(least * MICRO, round(wanted * MICRO)), pace
