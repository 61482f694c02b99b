"""Promise 3: a committed job is live, in history or a dead letter, in exactly one of them; and each comes to an end."""

from collections import defaultdict
from collections.abc import Iterator

from history.checks.violation import Violation
from history.events import History, JobChanged, JobEnded

POISON = "Poison"
TAKEN_BACK = {"c": "cancelled", "e": "given a deadline"}


def one_end(history: History) -> Iterator[Violation]:
    """Every job that was made has left the live table once, into one place, by the same commit."""
    made: dict[int, int] = defaultdict(int)
    left: dict[int, list[JobChanged]] = defaultdict(list)
    ends: dict[int, list[JobEnded]] = defaultdict(list)
    for event in history.events:
        if isinstance(event, JobChanged):
            made[event.job] += event.old is None
            if event.new is None:
                left[event.job].append(event)
        elif isinstance(event, JobEnded):
            ends[event.job].append(event)
    for job, times in made.items():
        places, leaves = ends.pop(job, []), left[job]
        if times != 1:
            yield Violation("one end", f"job {job} was made {times} times", (job,))
        elif not leaves:
            where = f"is in {places[0].place} and live" if places else "is never finished"
            yield Violation("one end", f"job {job} {where}", (job,))
        elif not places:
            yield Violation("one end", f"job {job} is lost: it left the live table for nowhere", (job,))
        elif len(places) > 1:
            told = ", ".join(f"{end.place} as {end.outcome}" for end in places)
            yield Violation("one end", f"job {job} ended {len(places)} times: in {told}", (job,))
        elif places[0].order[0] != leaves[0].order[0]:
            yield Violation("one end", f"job {job} was for a moment in two places or in none", (job,))
    for job, places in ends.items():
        yield Violation("one end", f"job {job} ended in {places[0].place} and was never made", (job,))


def all_kept(history: History) -> Iterator[Violation]:
    """What a producer was told of is there, and it was told of everything that was planned."""
    made = {event.job for event in history.changes() if event.old is None}
    for n in history.expected:
        if n not in history.told:
            yield Violation("kept", f"nobody was told what became of number {n} of the plan")
        elif history.told[n] not in made:
            yield Violation("kept", f"job {history.told[n]} was promised to a producer and is lost", (history.told[n],))


def as_planned(history: History) -> Iterator[Violation]:
    """Each job ends as its handler wants it: tries are counted exactly, whatever became of its runners."""
    rows = {event.job: event.new for event in history.changes() if event.old is None}
    for end in history.events:
        if not isinstance(end, JobEnded) or (row := rows.get(end.job)) is None:
            continue
        wanted = history.expected[row.n]
        if end.outcome == POISON:
            if end.losses != row.max_losses + 1:
                text = f"job {end.job} is poison after {end.losses} losses, max_losses is {row.max_losses}"
                yield Violation("as planned", text, (end.job,))
        elif end.outcome in TAKEN_BACK:
            if not wanted.cancelled:
                yield Violation("as planned", f"job {end.job} was {TAKEN_BACK[end.outcome]} by nobody", (end.job,))
        elif (end.outcome, end.tries) != (wanted.outcome, wanted.tries):
            text = (
                f"job {end.job} ended as {end.outcome} after {end.tries} failed tries, "
                f"not as {wanted.outcome} after {wanted.tries}"
            )
            yield Violation("as planned", text, (end.job,))


def one_of_a_name(history: History) -> Iterator[Violation]:
    """Of a kind and dedupe value at most one job is live."""
    live: dict[tuple[int, str], set[int]] = defaultdict(set)
    for event in history.changes():
        row = event.new or event.old
        if row is None or row.dedupe is None:
            continue
        twins = live[history.lanes[row.lane].kind, row.dedupe]
        if event.new is None:
            twins.discard(event.job)
        else:
            twins.add(event.job)
            if len(twins) > 1 and event.old is None:
                yield Violation("dedupe", f'{len(twins)} live jobs are called "{row.dedupe}"', tuple(twins), (event,))
