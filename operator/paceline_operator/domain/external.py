"""Runners outside the cluster: each that registers gets an object, so that it can be seen, tainted and drained."""

from collections.abc import Iterator
from typing import Final

from paceline_operator.domain.actions import Action, DeleteRunner, Forget, Mirror, Why
from paceline_operator.domain.seen import GroupSeen

UNSEEN: Final = 24 * 3600.0
"""Seconds after which one that was last heard of is forgotten."""


def mirror(seen: GroupSeen) -> Iterator[Action]:
    """Objects for those that have come, and an end to those that have not been heard of for a day."""
    rows = {row.runner: row for row in seen.registrations or () if row.external}
    gone = {name for name, row in rows.items() if row.incarnation is None and row.seen_seconds >= UNSEEN}
    there = {runner.name for runner in seen.runners}
    if missing := tuple(sorted(rows.keys() - gone - there)):
        yield Mirror(missing)
    for runner in seen.runners:
        unseen = runner.name in gone or runner.name not in rows
        if runner.external and runner.owned and unseen and not runner.deleting:
            yield DeleteRunner(runner.name, runner.uid, Why.UNSEEN)
    if gone:
        yield Forget(tuple(sorted(gone)))
