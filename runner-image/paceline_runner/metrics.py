"""What a runner counts. Labels are pool and kind only: job ids and runner names would make a series each.

Counted in plain numbers, and made into Prometheus' form when somebody asks: its own counters took half of all the time
that a runner spent on a job that does nothing.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client.metrics_core import HistogramMetricFamily, Metric

    from paceline.job import Claimed

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)
CLAIM_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
PREFIX: Final = "paceline_runner_"
_KIND: Final = attrgetter("kind")


class Spread:
    """How long something took, in buckets."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Begin with nothing."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def add_all(self, several: Sequence[float]) -> None:
        """Count many."""
        counts, bounds = self._counts, self._bounds
        for seconds in several:
            counts[bisect_left(bounds, seconds)] += 1
        self._sum += sum(several)

    def show(self, family: "HistogramMetricFamily", labels: Sequence[str]) -> None:
        """As Prometheus has it: each bucket counts those below it too."""
        bounds = [*(f"{float(bound)}" for bound in self._bounds), "+Inf"]
        family.add_metric(labels, list(zip(bounds, accumulate(self._counts), strict=True)), self._sum)


class OfKind:
    """The numbers of one kind."""

    __slots__ = ("back", "claimed", "done", "failed", "run", "wait")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.claimed = self.done = self.failed = self.back = 0
        self.wait, self.run = Spread(SECONDS), Spread(SECONDS)


class Metrics:
    """One for a process; counted in the main loop, shown by the port."""

    def __init__(self, pool: str) -> None:
        """Begin with nothing."""
        self.pool = pool
        self._kinds: dict[str, OfKind] = {}
        self._refused = self._lost = 0
        self._claim = Spread(CLAIM_SECONDS)
        self.slots: Callable[[], tuple[int, int, int]] = lambda: (0, 0, 0)
        """Busy ones, all of them, and those whose work goes on although it was told to end."""

    def _of(self, kind: str) -> OfKind:
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = OfKind()
        return found

    def stepped(self, seconds: float, jobs: "Sequence[Claimed]") -> None:
        """A round trip, and what it brought."""
        self._claim.add(seconds)
        for name, some in groupby(jobs, _KIND):  # most come in long rows of one kind
            waits = [job.waited for job in some]
            kind = self._of(name)
            kind.claimed += len(waits)
            kind.wait.add_all(waits)

    def done(self, kind: str, seconds: float) -> None:
        """An attempt ended well."""
        found = self._of(kind)
        found.done += 1
        found.run.add(seconds)

    def failed(self, kind: str, seconds: float) -> None:
        """An attempt failed; its cause is kept with it, in the database."""
        found = self._of(kind)
        found.failed += 1
        found.run.add(seconds)

    def handed_back(self, kind: str) -> None:
        """A job was given back."""
        self._of(kind).back += 1

    def refused(self, number: int) -> None:
        """Results were dropped."""
        self._refused += number

    def lost(self) -> None:
        """The registration ended under us."""
        self._lost += 1

    def collect(self) -> "Iterator[Metric]":
        """For prometheus_client."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        kinds, pool = ("pool", "kind"), [self.pool]
        claimed = CounterMetricFamily(f"{PREFIX}jobs_claimed", "Jobs claimed.", labels=kinds)
        done = CounterMetricFamily(f"{PREFIX}jobs_done", "Attempts that ended well.", labels=kinds)
        failed = CounterMetricFamily(
            f"{PREFIX}jobs_failed", "Attempts that failed; the cause of each is kept with it.", labels=kinds
        )
        back = CounterMetricFamily(f"{PREFIX}jobs_handed_back", "Jobs given back unfinished by a drain.", labels=kinds)
        wait = HistogramMetricFamily(f"{PREFIX}job_wait_seconds", "From ready to the claim.", labels=kinds)
        run = HistogramMetricFamily(f"{PREFIX}job_run_seconds", "An attempt.", labels=kinds)
        for name, kind in list(self._kinds.items()):
            labels = [*pool, name]
            claimed.add_metric(labels, kind.claimed)
            done.add_metric(labels, kind.done)
            back.add_metric(labels, kind.back)
            failed.add_metric(labels, kind.failed)
            kind.wait.show(wait, labels)
            kind.run.show(run, labels)
        claim = HistogramMetricFamily(f"{PREFIX}claim_seconds", "A round trip that acks and claims.", labels=["pool"])
        self._claim.show(claim, pool)
        yield from (claimed, done, failed, back, wait, run, claim)
        busy, most, unruly = self.slots()
        for kind_of, name, text, value in (
            (CounterMetricFamily, "jobs_fenced", "Results dropped: the job was not ours any more.", self._refused),
            (CounterMetricFamily, "leases_lost", "Registrations that ended under us.", self._lost),
            (GaugeMetricFamily, "slots_busy", "Slots with a job in them.", busy),
            (GaugeMetricFamily, "slots", "Slots.", most),
            (GaugeMetricFamily, "unruly", "Work that goes on after it was told to end; each holds a slot.", unruly),
        ):
            family = kind_of(f"{PREFIX}{name}", text, labels=["pool"])
            family.add_metric(pool, value)
            yield family

    def text(self) -> bytes:
        """As Prometheus reads it."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)
