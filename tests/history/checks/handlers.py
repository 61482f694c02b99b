"""What handlers did, held against what was committed: the work that counts was done by the owner of the claim.

The queue promises at-least-once: a runner that was stopped cannot know that it lost its lease, and may do a little of
a job after another has begun it, until it looks at its clock. Its fence tells the two apart, and nothing of what it
says is taken; how often it happens is measured. A runner that is cut off or killed has no such excuse: it lets go of
its jobs 3 s before its lease can end, so no sign of life of an old attempt may come after the start of the next one.
"""

from collections import defaultdict
from collections.abc import Iterator

from history.checks.violation import Violation
from history.events import History, JobChanged, JobEnded, Mark

DONE_BY = {"d": "ok", "Failed": "failed"}


def one_start(history: History) -> Iterator[Violation]:
    """A handler runs because of a claim, and once for each."""
    claims = {(event.job, event.new.fence) for event in history.changes() if event.claim and event.new}
    seen: set[tuple[int, int]] = set()
    for mark in history.marks:
        if mark.what != "start":
            continue
        attempt = (mark.job, mark.fence)
        if attempt not in claims:
            yield Violation(
                "one start", f"job {mark.job} was begun with fence {mark.fence}, without a claim", (mark.job,)
            )
        if attempt in seen:
            yield Violation("one start", f"job {mark.job} was begun twice with fence {mark.fence}", (mark.job,))
        seen.add(attempt)


def done_by_its_owner(history: History) -> Iterator[Violation]:
    """What is acknowledged was done, and what failed did fail, under the fence of the claim that ended."""
    ends = {(mark.job, mark.fence, mark.what) for mark in history.marks}
    for event in history.events:
        if isinstance(event, JobEnded) and event.outcome in DONE_BY:
            attempt = (event.job, event.fence, DONE_BY[event.outcome])
        elif isinstance(event, JobChanged) and event.old and event.new and event.new.tries > event.old.tries:
            attempt = (event.job, event.old.fence, "failed")
        else:
            continue
        if attempt not in ends:
            text = f"job {event.job} counts as {attempt[2]} with fence {attempt[1]}, and no handler came to that"
            yield Violation("owner", text, (event.job,), (event,))


def let_go(history: History) -> Iterator[Violation]:
    """No attempt shows a sign of life after the next one of its job has begun."""
    for late, begun in overlaps(history):
        if late.at > history.stopped.get(late.pid, late.at):
            continue
        text = (
            f"job {late.job} was still run with fence {late.fence} {late.at - begun.at:.3f} s after it was begun "
            f"with fence {begun.fence}"
        )
        yield Violation("let go", text, (late.job,))


def overlaps(history: History) -> Iterator[tuple[Mark, Mark]]:
    """The last sign of life of each attempt that outlived the start of a later one, and that start."""
    attempts: dict[int, dict[int, list[Mark]]] = defaultdict(lambda: defaultdict(list))
    for mark in history.marks:
        attempts[mark.job][mark.fence].append(mark)
    for of_job in attempts.values():
        for fence, marks in of_job.items():
            begun = min(
                (later[0] for other, later in of_job.items() if other > fence), key=lambda mark: mark.at, default=None
            )
            if begun and marks[-1].at > begun.at:
                yield marks[-1], begun


def keys_hold_outside(history: History) -> Iterator[Violation]:
    """A key's limit holds for the handlers themselves, not only for the rows; those of stopped runners aside."""
    keys = {event.job: event.new.key for event in history.changes() if event.new and event.new.key is not None}
    spans: dict[tuple[int, int], list[Mark]] = defaultdict(list)
    for mark in history.marks:
        if mark.job in keys and mark.pid not in history.stopped:
            spans[mark.job, mark.fence].append(mark)
    steps: dict[int, list[tuple[float, int, int]]] = defaultdict(list)
    for (job, _), marks in spans.items():
        key = keys[job]
        if key in history.key_limits:
            steps[key] += [(marks[0].at, 1, job), (marks[-1].at, -1, job)]
    for key, changes in steps.items():
        running = 0
        for _, change, job in sorted(changes):
            running += change
            if running > history.key_limits[key]:
                text = f"{running} handlers of key {key} run at once, its limit is {history.key_limits[key]}"
                yield Violation("keys", text, (job,))


def clean_exits(history: History) -> Iterator[Violation]:
    """A runner leaves (0), lets go of what it has lost (70), or was killed by us; it never crashes."""
    for exit_ in history.exits:
        if exit_.code in (0, 70) or (exit_.code < 0 and exit_.signals):
            continue
        yield Violation("exits", f"runner {exit_.runner} ended with {exit_.code} after {exit_.signals or 'no signal'}")
