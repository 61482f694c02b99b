"""Promises 7 and 8: who drains, is tainted, is gone or does not lead, claims nothing that it must not."""

from collections import defaultdict
from collections.abc import Iterator

from history.checks.violation import Violation
from history.events import History, JobChanged, Led, RunnerChanged, Tainted

STATES = {"d": "drains", "z": "is gone"}


def only_the_active(history: History) -> Iterator[Violation]:
    """No claim of an incarnation after the change that drained or ended it."""
    changed: dict[int | None, RunnerChanged] = {}
    for event in history.events:
        if isinstance(event, RunnerChanged):
            changed[event.incarnation] = event
        elif isinstance(event, JobChanged) and event.claim and event.new:
            seen = changed.get(event.new.incarnation)
            if seen is None or seen.new != "a":
                state = STATES[seen.new] if seen else "was never registered"
                text = f"job {event.job} was claimed by {event.new.incarnation}, which {state}"
                yield Violation("drain", text, (event.job,), (event,) if seen is None else (seen, event))


def only_the_untainted(history: History) -> Iterator[Violation]:
    """No claim of a Runner with a NoClaim taint, but of jobs that tolerate it."""
    runners: dict[int | None, int] = {}
    taints: dict[int, dict[tuple[str, str], Tainted]] = defaultdict(dict)
    for event in history.events:
        if isinstance(event, RunnerChanged):
            runners[event.incarnation] = event.runner
        elif isinstance(event, Tainted) and event.effect == "NoClaim":
            if event.on:
                taints[event.runner][event.source, event.key] = event
            else:
                taints[event.runner].pop((event.source, event.key), None)
        elif isinstance(event, JobChanged) and event.claim and event.new:
            for (_, key), taint in taints[runners.get(event.new.incarnation, 0)].items():
                if key not in history.lanes[event.new.lane].tolerations:
                    text = f'job {event.job} was claimed by a Runner with the taint "{key}:NoClaim"'
                    yield Violation("taint", text, (event.job,), (taint, event))


def only_the_leader(history: History) -> Iterator[Violation]:
    """In a pool with a leader no claim of anybody else, from the commit of the new epoch on; and epochs grow."""
    leaders: dict[int, Led] = {}
    for event in history.events:
        if isinstance(event, Led):
            before = leaders.get(event.group)
            if before and event.epoch <= before.epoch:
                yield Violation("leader", f"epoch {event.epoch} came after {before.epoch}", (), (before, event))
            leaders[event.group] = event
        elif isinstance(event, JobChanged) and event.claim and event.new:
            group = history.leads.get(history.lanes[event.new.lane].pool)
            leader = leaders.get(group) if group is not None else None
            if group is not None and (leader is None or leader.incarnation != event.new.incarnation):
                text = f"job {event.job} was claimed by {event.new.incarnation}, which does not lead"
                yield Violation("leader", text, (event.job,), (leader, event) if leader else (event,))
