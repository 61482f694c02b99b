"""The decision, from what was seen and nothing else: is a message queue needed, where, and when to look again."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from paceline_bench.assess.plan import Way
from paceline_bench.assess.seen import Gap, Seen

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
    UNKNOWN = "not measured"
    BEYOND = "more than this machine could do"
    """No processor was left: no queue makes processors."""
    FEW = "more than so few runners can do"
    """Processors were left, and the same way keeps up with more runners: they are what is missing."""


LIMITS: Final = (Verdict.SLOW, Verdict.BACKLOG, Verdict.UNKNOWN, Verdict.BEYOND, Verdict.FEW)
"""Where ways differ in what stops them, the first of these counts."""


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
        """Whether a message queue is to be considered: no way keeps up, and neither processors nor runners are why."""
        return self.limit in (Verdict.SLOW, Verdict.BACKLOG)

    @property
    def fine(self) -> bool:
        """Whether none is needed, at any rate that was tried."""
        return self.limit in (Verdict.KEPT, Verdict.FEW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer."""

    sizes: tuple[Size, ...]
    first: Mapping[Way, Seen | Gap | None]
    """For each way the smallest cell in which it does not keep up, or was not measured; None: there is none."""
    headroom: Mapping[tuple[Way, int], int | None]
    """For each way and size the highest rate up to which 95 of 100 claims take less than a second; None: none."""
    saturation: Mapping[tuple[Way, int], float]
    """Jobs a minute with the queue full, by way and size."""


def backs_up(cell: Seen) -> bool:
    """Whether more and more jobs wait, to be claimed or to be written at all. Flat out it is we who keep it full."""
    return grows(cell, cell.backlog_last - cell.backlog_first + unwritten(cell))


def unwritten(cell: Seen) -> int:
    """Jobs that came, and that the database had not taken."""
    return (cell.due or cell.jobs) - cell.jobs


def grows(cell: Seen, by: int) -> bool:
    """Whether so many jobs are more than chance."""
    return cell.due is not None and by > max(FEW, GROWTH * cell.due)


@dataclass(frozen=True, slots=True)
class Judged:
    """A cell at a rate, and what it says."""

    cell: Seen | Gap
    verdict: Verdict

    @property
    def rate(self) -> int:
        """Only cells with one are judged."""
        assert self.cell.rate is not None
        return self.cell.rate

    @property
    def p95(self) -> float:
        """Of its claims; what was not measured may have taken for ever."""
        return math.inf if isinstance(self.cell, Gap) else self.cell.claim_p95


def judge(cell: Seen | Gap, more: bool) -> Verdict:
    """One cell; `more`: the same way keeps up at this rate with more runners."""
    if isinstance(cell, Gap):
        return Verdict.UNKNOWN
    if keeps_up(cell):
        return Verdict.KEPT
    if cell.full:
        return Verdict.BEYOND
    if more:
        return Verdict.FEW
    return Verdict.SLOW if cell.claim_p95 > SLOW else Verdict.BACKLOG


def keeps_up(cell: Seen) -> bool:
    """Whether claims are soon enough, and no more jobs wait in the end than in the beginning."""
    return cell.claim_p95 <= SLOW and not backs_up(cell)


def decide(cells: Sequence[Seen], gaps: Sequence[Gap] = ()) -> Decision:
    """All of them together; what could not be measured stands in the way of a good answer."""
    every: list[Seen | Gap] = sorted([*cells, *gaps], key=lambda each: (each.runners, each.rate or 0))
    kept = [each for each in cells if each.rate and keeps_up(each)]

    def judged_one(cell: Seen | Gap) -> Judged:
        alike = (each for each in kept if (each.way, each.rate) == (cell.way, cell.rate))
        return Judged(cell, judge(cell, any(each.runners > cell.runners for each in alike)))

    judged = [judged_one(each) for each in every if each.rate]
    return Decision(
        sizes=tuple(_size(runners, judged) for runners in dict.fromkeys(each.cell.runners for each in judged)),
        first={way: _first(way, judged) for way in dict.fromkeys(each.way for each in every)},
        headroom={place: _headroom(place, judged) for place in dict.fromkeys(each.cell.place for each in judged)},
        saturation={each.place: 60 * each.done for each in cells if each.rate is None},
    )


def _size(runners: int, judged: Iterable[Judged]) -> Size:
    here = [each for each in judged if each.cell.runners == runners]
    good = [each for each in here if each.verdict is Verdict.KEPT]
    rate, above = unbroken((each.rate for each in here), {each.rate for each in good})
    best = min((each for each in good if each.rate == rate), key=lambda each: each.p95, default=None)
    stopped = {each.verdict for each in here if each.rate == above}
    limit = next((each for each in LIMITS if each in stopped), Verdict.KEPT)
    return Size(
        runners=runners, rate=rate, way=best.cell.way if best else None, p95=best.p95 if best else None, limit=limit
    )


def _first(way: Way, judged: Iterable[Judged]) -> Seen | Gap | None:
    bad = (each.cell for each in judged if each.verdict is not Verdict.KEPT)
    return next((each for each in bad if each.way == way), None)


def _headroom(place: tuple[Way, int], judged: Iterable[Judged]) -> int | None:
    here = [each for each in judged if each.cell.place == place]
    soon = {each.rate for each in here if each.verdict is Verdict.KEPT and each.p95 < SOON}
    return unbroken((each.rate for each in here), soon)[0]


def unbroken(tried: Iterable[int], kept: Collection[int]) -> tuple[int | None, int | None]:
    """The highest rate up to which none is missing, and the next: one that keeps up above a gap promises nothing."""
    found = None
    for rate in sorted(set(tried)):
        if rate not in kept:
            return found, rate
        found = rate
    return found, None
