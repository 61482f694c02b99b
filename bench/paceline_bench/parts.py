"""The parts of a bench that are measured one after the other, and what becomes of those that cannot be."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Final

from paceline_bench.bench import Run
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement, Missing

NOT_WANTED: Final = "not asked for"
NOT_GIVEN: Final = "its part gave no such figure"
Part = Callable[[], Awaitable[list[Measurement]]]


async def take(run: Run, names: Sequence[str], part: Part, *, reports: bool = False) -> list[Measurement | Missing]:
    """The figures of one part; it is left out if nobody wants any of them, and what it does not give is missing.

    A part that `reports` shows its progress by itself.
    """
    wanted = [name for name in names if run.wants(name)]
    found: list[Measurement] = []
    reason = NOT_WANTED
    if wanted:
        try:
            with nullcontext() if reports else run.report.task(wanted[0].replace("_", " ")):
                found = await part()
        except NotMeasuredError as error:
            reason = str(error)
        else:
            reason = NOT_GIVEN
    there = {each.name for each in found}
    missing = [name for name in names if name not in there]
    return [*found, *(Missing(name, reason if name in wanted else NOT_WANTED) for name in missing)]
