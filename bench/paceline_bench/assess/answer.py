"""The decision in words; every number in them is one of the run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from paceline_bench.assess.decide import SLOW, SOON, Decision, Size, Verdict, backs_up, behind
from paceline_bench.assess.plan import WAYS, Way, told
from paceline_bench.assess.seen import Seen
from paceline_bench.assess.tables import NOTHING, ms, row, table
from paceline_bench.measure import number

ANSWERS: Final = {
    Verdict.KEPT: "no", Verdict.SLOW: "consider", Verdict.BACKLOG: "consider", Verdict.BEYOND: "not decided above",
}  # fmt: skip


def answer(decision: Decision) -> list[str]:
    """Yes or no, and for whom."""
    sizes = decision.sizes
    if not sizes:
        return ["**Nothing was decided**: no rate was measured."]
    lines = [_sentence(decision, sizes), ""]
    lines += table(["runners", "a message queue?", "some way keeps up to", "the quickest there", "what stops it above"])
    lines += [row(_size(each)) for each in sizes]
    return lines


def _sentence(decision: Decision, sizes: Sequence[Size]) -> str:
    first, last = sizes[0].runners, sizes[-1].runners
    if (needed := decision.needed_from) is not None:
        before = [each.runners for each in sizes if each.runners < needed]
        good = f"**No message queue up to {before[-1]:,} runners.** " if before else ""
        return f"{good}**Consider one from {needed:,} runners on**: there no way kept up at every rate that was tried."
    if beyond := [each for each in sizes if each.limit is Verdict.BEYOND]:
        upto = ", ".join(f"{each.runners:,} runners {_upto(each)}" for each in beyond)
        return (
            f"**Not decided for every rate**: no message queue is needed as far as some way kept up ({upto}). Above "
            "that no processor was left, or the way never gets there: this speaks neither for a message queue nor "
            "against one."
        )
    return (
        f"**No message queue, from {first:,} to {last:,} runners**: with each number of them some way kept up at every "
        f"rate, with 95 of 100 claims within {ms(max(each.p95 or 0 for each in sizes))} at the highest."
    )


def _upto(size: Size) -> str:
    return "at no rate" if size.rate is None else f"up to {told(size.rate)}"


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


def _first(cell: Seen | None) -> str:
    if cell is None:
        return f"nowhere did claims take more than {ms(SLOW)}, or the backlog grow"
    slow = [f"95 of 100 claims took up to {ms(cell.claim_p95)}"] if cell.claim_p95 > SLOW else []
    grew = [f"the backlog grew by {behind(cell):,} of {cell.due:,} jobs"] if backs_up(cell) else []
    full = "; the machine was full" if cell.full else ""
    return f"first with {cell.runners:,} runners at {told(cell.rate)}: {' and '.join(slow + grew)}{full}"


def _grid(decision: Decision, title: str, shown: Mapping[tuple[Way, int], str]) -> Iterator[str]:
    ways = [way for way in WAYS if way in decision.first]
    yield f"{title}:"
    yield ""
    yield from table(["runners", *(WAYS[way] for way in ways)])
    for runners in sorted({runners for _, runners in shown}):
        yield row([f"{runners:,}", *(shown.get((way, runners), "") for way in ways)])
    yield ""
