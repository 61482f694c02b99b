"""The decision in words; every number in them is one of the run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from paceline_bench.assess.decide import SLOW, SOON, Decision, Size, Verdict, backs_up, unwritten
from paceline_bench.assess.plan import WAYS, Way, told
from paceline_bench.assess.seen import Gap, Seen
from paceline_bench.assess.tables import NOTHING, ms, row, table
from paceline_bench.measure import number

ANSWERS: Final = {
    Verdict.KEPT: "no", Verdict.FEW: "no: more runners", Verdict.SLOW: "consider", Verdict.BACKLOG: "consider",
    Verdict.BEYOND: "not decided above", Verdict.UNKNOWN: "not decided above",
}  # fmt: skip


def answer(decision: Decision) -> list[str]:
    """Yes or no, and for whom."""
    sizes = decision.sizes
    if not sizes:
        return ["**Nothing was decided**: no rate was measured."]
    lines = [" ".join(_sentences(sizes)), ""]
    lines += table(["runners", "a message queue?", "some way keeps up to", "the quickest there", "what stops it above"])
    lines += [row(_size(each)) for each in sizes]
    return lines


def _sentences(sizes: Sequence[Size]) -> Iterator[str]:
    """Each verdict that there is, for those whom it is about."""
    if fine := [each for each in sizes if each.fine]:
        slowest = max(each.p95 or 0 for each in fine)
        yield (
            f"**No message queue with {_runners(fine)}**: some way kept up at every rate that so many could do, with "
            f"95 of 100 claims within {ms(slowest)} at the highest."
        )
    if needed := [each for each in sizes if each.queue]:
        yield (
            f"**Consider one with {_runners(needed)}**: above {_upto(needed)} no way kept up, though processors were "
            "left."
        )
    if beyond := [each for each in sizes if not each.fine and not each.queue]:
        yield (
            f"**Not decided with {_runners(beyond)}**: no message queue is needed up to {_upto(beyond)}. Above that "
            "no processor was left, or nothing could be measured, which speaks neither for a message queue nor against "
            "one."
        )


def _runners(sizes: Sequence[Size]) -> str:
    *some, last = [f"{each.runners:,}" for each in sizes]
    return f"{', '.join(some)} and {last} runners" if some else f"{last} runners"


def _upto(sizes: Sequence[Size]) -> str:
    rates = dict.fromkeys("no rate" if each.rate is None else told(each.rate) for each in sizes)
    return f"{', '.join(rates)}{' in turn' if len(rates) > 1 else ''}"


def _size(size: Size) -> list[str]:
    keeps = NOTHING if size.rate is None else told(size.rate)
    best = NOTHING if size.way is None or size.p95 is None else f"{WAYS[size.way]}: p95 {ms(size.p95)}"
    above = "nothing that was tried" if size.limit is Verdict.KEPT else size.limit.value
    return [f"{size.runners:,}", ANSWERS[size.limit], keeps, best, above]


def again(decision: Decision) -> Iterator[str]:
    """The figures at which to look again, way by way."""
    for way, cell in decision.first.items():
        yield f"- {WAYS[way]}: {_first(cell)}"
    yield ""
    soon = {place: "none" if rate is None else told(rate) for place, rate in decision.headroom.items()}
    yield from _grid(decision, f"Highest rate that was tried with 95 of 100 claims below {ms(SOON)}", soon)
    if decision.saturation:
        flat = {place: f"{number(rate)}/min" for place, rate in decision.saturation.items()}
        yield from _grid(decision, "What each way does with the queue full: look again well before", flat)


def _first(cell: Seen | Gap | None) -> str:
    if cell is None:
        return f"nowhere did claims take more than {ms(SLOW)}, or the backlog grow"
    where = f"first with {cell.runners:,} runners at {told(cell.rate)}"
    if isinstance(cell, Gap):
        return f"{where}: could not be measured"
    said = [f"95 of 100 claims took up to {ms(cell.claim_p95)}"] if cell.claim_p95 > SLOW else []
    if backs_up(cell):
        waiting = {"claimed": cell.backlog_last - cell.backlog_first, "written": unwritten(cell)}
        more = " and ".join(f"{count:,} more waited to be {what}" for what, count in waiting.items() if count > 0)
        said.append(f"of {cell.due:,} jobs {more}")
    full = "; the machine was full" if cell.full else ""
    return f"{where}: {' and '.join(said)}{full}"


def _grid(decision: Decision, title: str, shown: Mapping[tuple[Way, int], str]) -> Iterator[str]:
    ways = [way for way in WAYS if way in decision.first]
    yield f"{title}:"
    yield ""
    yield from table(["runners", *(WAYS[way] for way in ways)])
    for runners in sorted({runners for _, runners in shown}):
        yield row([f"{runners:,}", *(shown.get((way, runners), "") for way in ways)])
    yield ""
