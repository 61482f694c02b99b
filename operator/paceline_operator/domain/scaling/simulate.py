"""A day of jobs against an autoscaling block, in seconds: the same `decide`, with runners that are only counted.

The group is looked at every second while something happens, at once when a job comes to a group at zero, when time
alone may change the decision, and every 15 seconds. A runner takes jobs after its start-up; only one that holds no job
is taken away.
"""

import math
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from heapq import heappop, heappush, heapreplace
from typing import Final

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.decide import Decision, ScaleReason, decide, record_change
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.played import Load, Point, Simulated, rank
from paceline_operator.domain.scaling.signals import Signals

LOOK: Final = 1.0
"""Seconds between two decisions."""
RESYNC: Final = 15.0
"""Seconds after which the operator looks even if nothing has happened. It would see the same, so only the last such
look before something happens is made up for."""
RATE_WINDOW: Final = 60.0
SERVICE_WINDOW: Final = 300.0
PATIENCE: Final = 30 * 86_400.0
"""Seconds after the last job came; what is not done by then is reported as unfinished."""
TOLD: Final = 20_000
"""Jobs between two words on how far it is."""
AT_REST: Final = {
    ScaleReason.WITHIN_RANGE, ScaleReason.WITHIN_TOLERANCE, ScaleReason.TOO_FEW, ScaleReason.SCHEDULE,
    ScaleReason.DISABLED,
}  # fmt: skip


def simulate(
    spec: Autoscaling, slots: int, load: Load, startup: float = 5.0, tell: Callable[[int], None] = lambda _: None
) -> Simulated:
    """Let all jobs come, wait and run; `tell` hears now and then how many have begun."""
    return _Run(spec, slots, load, startup).play(tell)


class _Run:
    def __init__(self, spec: Autoscaling, slots: int, load: Load, startup: float) -> None:
        self.spec, self.slots, self.load, self.startup = spec, slots, load, startup
        self.latest = max(load.ready[-1] if load.ready else 0.0, load.length) + PATIENCE
        self.came = 0
        """Jobs that are ready, running or done; those from `begun` on wait."""
        self.begun = 0
        self.done: list[tuple[float, int, float]] = []
        """Running jobs by their end: moment, runner, service time. A heap."""
        self.held: dict[int, int] = {}
        """Jobs of each runner that is there."""
        self.starting: deque[tuple[float, int]] = deque()
        self.free: deque[int] = deque()
        """A runner for each slot of it that is free; of one that is gone until somebody looks."""
        self.waits: list[float] = []
        self.history = History()
        self.ended, self.ended_seconds = 0, 0.0
        self.attempts: deque[tuple[float, int, float]] = deque()
        self.recent, self.recent_seconds = 0, 0.0
        self.rate_from = 0
        self.now, self.due, self.looked = 0.0, 0.0, 0.0
        self.made = 0
        self.runner_seconds, self.counted_to = 0.0, 0.0
        self.most = self.ups = self.downs = 0
        self.points: list[Point] = []

    def play(self, tell: Callable[[int], None]) -> Simulated:
        """From the first decision to the last."""
        told = 0
        while self.due <= self.latest:
            self.now = self.due
            decision = self._look()
            if self._at_rest(decision):
                break
            self._advance()
            if self.begun - told >= TOLD:
                told = self.begun
                tell(told)
        end = self.latest if self.done else max(self.now, self.load.length)
        self._count_to(end)
        return self._result(end)

    def _at_rest(self, decision: Decision) -> bool:
        finished = self.came == len(self.load.ready) == self.begun and not self.done
        settled = decision.replicas == len(self.held) and decision.reason in AT_REST
        return finished and settled and self.now >= self.load.length

    def _look(self) -> Decision:
        """Decide and act; afterwards `due` is when time alone asks for the next decision."""
        now = self.load.start + timedelta(seconds=self.now)
        size = len(self.held)
        self._make_up_for_looks()
        decision = decide(self.spec, self.slots, size, self._signals(), self.history, now)
        self._resize(decision.replicas)
        self.history = decision.history
        self.due = math.inf
        if decision.again_at is not None:
            self.due = (decision.again_at - self.load.start).total_seconds()
        if len(self.held) != size:
            self.history = record_change(self.history, size, len(self.held), now)
            self.due = min(self.due, self.now + LOOK)
        point = Point(self.now, len(self.held), self.came - self.begun)
        if not self.points or (point.replicas, point.ready) != (self.points[-1].replicas, self.points[-1].ready):
            self.points.append(point)
        if self.now < self.load.length < self.due:
            self.due = self.load.length
        return decision

    def _make_up_for_looks(self) -> None:
        if self.now - self.looked > RESYNC and self.history.recommendations:
            last = self.load.start + timedelta(seconds=self.now - RESYNC)
            self.history = self.history.recommended(self.history.recommendations[-1].replicas, last)
        self.looked = self.now

    def _signals(self) -> Signals:
        ready, now = self.load.ready, self.now
        while self.rate_from < self.came and ready[self.rate_from] <= now - RATE_WINDOW:
            self.rate_from += 1
        if self.ended:
            self.attempts.append((now, self.ended, self.ended_seconds))
            self.recent, self.recent_seconds = self.recent + self.ended, self.recent_seconds + self.ended_seconds
            self.ended, self.ended_seconds = 0, 0.0
        while self.attempts and self.attempts[0][0] <= now - SERVICE_WINDOW:
            _, count, seconds = self.attempts.popleft()
            self.recent, self.recent_seconds = self.recent - count, self.recent_seconds - seconds
        return Signals(
            ready=self.came - self.begun,
            running=len(self.done),
            oldest_seconds=now - ready[self.begun] if self.begun < self.came else None,
            arrival_rate=(self.came - self.rate_from) / RATE_WINDOW,
            service_seconds=max(0.0, self.recent_seconds) / self.recent if self.recent else None,
        )

    def _resize(self, wanted: int) -> None:
        size = len(self.held)
        if wanted == size:
            return
        self._count_to(self.now)
        if wanted > size:
            self.ups += 1
            for _ in range(wanted - size):
                self.made += 1
                self.held[self.made] = 0
                self.starting.append((self.now + self.startup, self.made))
            self.most = max(self.most, wanted)
        else:
            idle = [runner for runner, jobs in self.held.items() if not jobs]
            for runner in idle[wanted - size :]:  # the newest ones: those that still start are among them
                del self.held[runner]
            self.downs += bool(idle)

    def _count_to(self, moment: float) -> None:
        self.runner_seconds += len(self.held) * max(0.0, moment - self.counted_to)
        self.counted_to = max(self.counted_to, moment)

    def _advance(self) -> None:
        """All that happens before the next decision, in order. The one place where time is spent: plain locals."""
        ready, service, held, free, done = self.load.ready, self.load.service, self.held, self.free, self.done
        came, begun, total, waits = self.came, self.begun, len(self.load.ready), self.waits
        due, soonest, ended, ended_seconds = self.due, self.now + LOOK, self.ended, self.ended_seconds
        while True:
            arrival = ready[came] if came < total else math.inf
            end = done[0][0] if done else math.inf
            start = self.starting[0][0] if self.starting else math.inf
            moment = min(arrival, end, start)
            if moment > due or moment > self.latest:
                break
            if arrival == moment:
                came += 1
                if not held and begun + 1 == came:
                    due = arrival
            elif end == moment:
                _, runner, took = done[0]
                ended, ended_seconds = ended + 1, ended_seconds + took
                if begun < came:
                    heapreplace(done, (end + service[begun], runner, service[begun]))
                    waits.append(end - ready[begun])
                    begun += 1
                else:
                    heappop(done)
                    held[runner] -= 1
                    free.append(runner)
            else:
                runner = self.starting.popleft()[1]
                if runner in held:
                    free.extend([runner] * self.slots)
            while free and begun < came:
                runner = free.popleft()
                if runner in held:
                    held[runner] += 1
                    heappush(done, (moment + service[begun], runner, service[begun]))
                    waits.append(moment - ready[begun])
                    begun += 1
            if due > soonest:
                due = max(moment, soonest)
        self.came, self.begun, self.due = came, begun, due
        self.ended, self.ended_seconds = ended, ended_seconds

    def _result(self, end: float) -> Simulated:
        self.waits.sort()
        return Simulated(
            jobs=len(self.load.ready),
            unfinished=len(self.load.ready) - self.begun + len(self.done),
            seconds=end,
            runner_hours=self.runner_seconds / 3600,
            wait_p50=rank(self.waits, 0.50),
            wait_p95=rank(self.waits, 0.95),
            wait_p99=rank(self.waits, 0.99),
            wait_max=self.waits[-1] if self.waits else 0.0,
            most_runners=self.most,
            scale_ups=self.ups,
            scale_downs=self.downs,
            points=tuple(self.points),
        )
