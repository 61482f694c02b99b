"""A promise that was broken, with the jobs and the events that show it."""

from collections.abc import Sequence
from dataclasses import dataclass

from history.events import Event, History, JobChanged, JobEnded, JobRow, Late, Mark

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Violation:
    """`text` is one sentence; the events of `jobs` tell the story."""

    promise: str
    text: str
    jobs: tuple[int, ...] = ()
    events: tuple[Event, ...] = ()


def explain(history: History, violations: Sequence[Violation]) -> str:
    """The violations, and for the first ones everything that is known of their jobs, as tables."""
    lines = [f"{len(violations)} violations"]
    for violation in violations[:SHOWN]:
        lines += ["", f"{violation.promise}: {violation.text}"]
        lines += [f"  {event}" for event in violation.events]
        for job in violation.jobs[:SHOWN]:
            lines += [f"  job {job}", *(f"    {line}" for line in table(history, job))]
    return "\n".join(lines)


def table(history: History, job: int) -> list[str]:
    """What became of a job: what was committed in its order, then what its handlers saw, by their own clock."""
    return [_line(each) for each in history.of_job(job)]


def _line(each: Event | Mark | Late) -> str:
    match each:
        case JobChanged():
            return f"commit {each.order[0]:>7}  {each.at:.6f}  {_state(each.old)} -> {_state(each.new)}"
        case JobEnded():
            return (
                f"commit {each.order[0]:>7}  {'':17}  in {each.place} as {each.outcome}: fence {each.fence} "
                f"of {each.incarnation}, tries {each.tries}, losses {each.losses}"
            )
        case Mark():
            return f"handler of {each.pid:>8}  {each.at:.6f}  {each.what}, fence {each.fence}"
        case Late():
            return f"a late {each.call} with fence {each.fence} was {'refused' if each.refused else 'taken'}"
        case _:
            return str(each)


def _state(row: JobRow | None) -> str:
    if row is None:
        return "not there"
    name = {"s": "scheduled", "b": "blocked", "r": "ready", "x": "running"}[row.state]
    holder = f" by {row.incarnation} with fence {row.fence}" if row.state == "x" else ""
    return f"{name}{holder} (tries {row.tries}, losses {row.losses})"
