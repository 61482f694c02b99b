"""Promises 5 and 6: keys are never over their limit, and rates never let more through than they say."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from history.checks.violation import Violation
from history.events import Charged, History, JobChanged

ROUNDING = 1e-6
"""Permits are floats, and the record keeps microseconds."""


def keys_hold(history: History) -> Iterator[Violation]:
    """At no commit more jobs of a key run than its limit allows."""
    running: dict[int, set[int]] = defaultdict(set)
    checked = 0
    touched: dict[int, JobChanged] = {}

    def over() -> Iterator[Violation]:
        for key, event in touched.items():
            limit = history.key_limits.get(key)
            if limit is not None and len(running[key]) > limit:
                text = f"{len(running[key])} jobs of key {key} run, its limit is {limit}"
                yield Violation("keys", text, tuple(sorted(running[key])), (event,))
        touched.clear()

    for event in history.changes():
        if event.order[0] != checked:  # a commit is seen whole or not at all
            yield from over()
            checked = event.order[0]
        row = event.new or event.old
        if row is None or row.key is None:
            continue
        if event.new is not None and event.new.state == "x":
            if event.job not in running[row.key]:
                touched[row.key] = event
            running[row.key].add(event.job)
        else:
            running[row.key].discard(event.job)
    yield from over()


def rates_hold(history: History) -> Iterator[Violation]:
    """In every window of t seconds at most burst + rate * t claims.

    Each claim counts at the moment at which its commit charged the bucket, by the database's clock: one that charged
    nothing is a violation by itself. All windows at once, in one pass: the largest excess of a window that ends here
    is that of the claim before, less what has flowed in since (never below nothing), plus this claim.
    """
    claims: Counter[tuple[int, tuple[str, int]]] = Counter()
    shown: dict[tuple[int, tuple[str, int]], JobChanged] = {}
    charged: dict[tuple[int, tuple[str, int]], float] = {}
    for event in history.events:
        if isinstance(event, Charged):
            charged[event.order[0], event.bucket] = event.at
        elif isinstance(event, JobChanged) and event.claim:
            for bucket in _buckets(history, event):
                claims[event.order[0], bucket] += 1
                shown[event.order[0], bucket] = event
    excess: dict[tuple[str, int], float] = {}
    last: dict[tuple[str, int], float] = {}
    for (commit, bucket), count in claims.items():
        event = shown[commit, bucket]
        at = charged.get((commit, bucket))
        if at is None:
            yield Violation(
                "rates", f"{count} claims did not charge the {bucket[0]} {bucket[1]}", (event.job,), (event,)
            )
            continue
        rate, burst = history.rates[bucket]
        flowed = rate * max(0.0, at - last.get(bucket, at))
        excess[bucket] = max(0.0, excess.get(bucket, 0.0) - flowed) + count
        last[bucket] = at
        if excess[bucket] > burst + ROUNDING:
            text = f"the {bucket[0]} {bucket[1]} let {excess[bucket]:.3f} through at once, its burst is {burst:g}"
            yield Violation("rates", text, (event.job,), (event,))


def _buckets(history: History, event: JobChanged) -> Iterator[tuple[str, int]]:
    assert event.new is not None
    lane = history.lanes[event.new.lane]
    for bucket in (("pool", history.pools.get(lane.pool, 0)), ("kind", lane.kind), ("key", event.new.key or 0)):
        if bucket in history.rates:
            yield bucket
