"""The decision, from what was seen and nothing else: is a message queue needed, where, and when to look again."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from paceline_bench.assess.plan import Way
from paceline_bench.assess.seen import Seen

SLOW: Final = 5_000.0
"""Milliseconds that 95 of 100 claims may take: the trigger of the question."""
SOON: Final = 1_000.0
"""Below this there is room left."""
GROWTH: Final = 0.05
"""A backlog that takes this share of all jobs is no accident any more."""
FEW: Final = 10
"""Jobs: a backlog that grew by less is none."""


class Verdict(Enum):
    """What a cell says."""

    KEPT = "kept"
    SLOW = "claims take more than 5 s"
    BACKLOG = "the backlog grows"
    BEYOND = "more than this machine could do"
    """No processor was left, or the way never reaches this rate: no queue makes processors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What holds for one number of runners."""

    runners: int
    rate: int | None
    """The highest rate up to which some way keeps up; None: not even the lowest."""
    way: Way | None
    """The quickest of those that keep up at that rate."""
    p95: float | None
    """Its claims there."""
    limit: Verdict
    """What stops it above that rate: KEPT where nothing did that was tried."""

    @property
    def queue(self) -> bool:
        """Whether a message queue is to be considered: no way keeps up at a rate that its machine could do."""
        return self.limit in (Verdict.SLOW, Verdict.BACKLOG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer."""

    sizes: tuple[Size, ...]
    first: Mapping[Way, Seen | None]
    """For each way the smallest cell in which it does not keep up, for whatever reason; None: there is none."""
    headroom: Mapping[tuple[Way, int], int | None]
    """For each way and size the highest rate up to which 95 of 100 claims take less than a second; None: none."""
    saturation: Mapping[tuple[Way, int], float]
    """Jobs a minute with the queue full, by way and size."""

    @property
    def needed_from(self) -> int | None:
        """The fewest runners at which a message queue is to be considered; None: it was never so."""
        return next((each.runners for each in self.sizes if each.queue), None)


def backs_up(cell: Seen) -> bool:
    """Whether more and more jobs wait, to be claimed or to be written at all. Flat out it is we who keep it full."""
    return cell.due is not None and behind(cell) > max(FEW, GROWTH * cell.due)


def behind(cell: Seen) -> int:
    """How many more waited at the end than at the beginning."""
    return cell.backlog_last - cell.backlog_first + (cell.due or cell.jobs) - cell.jobs


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell at a rate, and what it says."""

    cell: Seen
    verdict: Verdict

    @property
    def rate(self) -> int:
        """Only cells with one are judged."""
        assert self.cell.rate is not None
        return self.cell.rate

    @property
    def place(self) -> tuple[Way, int]:
        """Which way, and how many."""
        return self.cell.way, self.cell.runners


def judge(cell: Seen, saturation: float | None) -> Verdict:
    """One cell; `saturation` is what its way does in a minute with the queue full, None where that was not tried."""
    if cell.claim_p95 <= SLOW and not backs_up(cell):
        return Verdict.KEPT
    if cell.full or (cell.rate is not None and saturation is not None and cell.rate >= saturation):
        return Verdict.BEYOND
    return Verdict.SLOW if cell.claim_p95 > SLOW else Verdict.BACKLOG


def decide(cells: Iterable[Seen]) -> Decision:
    """All of them together."""
    every = sorted(cells, key=lambda each: (each.runners, each.rate or 0))
    saturation = {(each.way, each.runners): 60 * each.done for each in every if each.rate is None}
    judged = [Judged(each, judge(each, saturation.get((each.way, each.runners)))) for each in every if each.rate]
    return Decision(
        sizes=tuple(_size(runners, judged) for runners in dict.fromkeys(each.cell.runners for each in judged)),
        first={way: _first(way, judged) for way in dict.fromkeys(each.way for each in every)},
        headroom={place: _headroom(*place, judged) for place in dict.fromkeys(each.place for each in judged)},
        saturation=saturation,
    )


def _size(runners: int, judged: Iterable[Judged]) -> Size:
    here = [each for each in judged if each.cell.runners == runners]
    good = [each for each in here if each.verdict is Verdict.KEPT]
    rate, above = unbroken((each.rate for each in here), {each.rate for each in good})
    keeping = (each.cell for each in good if each.rate == rate)
    best = min(keeping, key=lambda each: each.claim_p95, default=None)
    stopped = {each.verdict for each in here if each.rate == above}
    worst = next((each for each in (Verdict.SLOW, Verdict.BACKLOG, Verdict.BEYOND) if each in stopped), Verdict.KEPT)
    return Size(
        runners=runners, rate=rate, way=best.way if best else None, p95=best.claim_p95 if best else None, limit=worst
    )


def _first(way: Way, judged: Iterable[Judged]) -> Seen | None:
    bad = (each.cell for each in judged if each.verdict is not Verdict.KEPT)
    return next((each for each in bad if each.way == way), None)


def _headroom(way: Way, runners: int, judged: Iterable[Judged]) -> int | None:
    here = [each for each in judged if each.place == (way, runners)]
    soon = {each.rate for each in here if each.verdict is Verdict.KEPT and each.cell.claim_p95 < SOON}
    return unbroken((each.rate for each in here), soon)[0]


def unbroken(tried: Iterable[int], kept: Collection[int]) -> tuple[int | None, int | None]:
    """The highest rate up to which none is missing, and the next: one that keeps up above a gap promises nothing."""
    found = None
    for rate in sorted(set(tried)):
        if rate not in kept:
            return found, rate
        found = rate
    return found, None
