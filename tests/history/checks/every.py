"""All checks, one for each promise that can be seen in a history."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from history.checks import claims, ends, gates, handlers, limits, losses, turns
from history.checks.violation import Violation
from history.events import History

Check: TypeAlias = Callable[[History], Iterator[Violation]]
CHECKS: tuple[Check, ...] = (
    claims.unbroken, ends.one_end, ends.all_kept, ends.as_planned, ends.one_of_a_name,
    claims.one_claim, claims.fences_grow, claims.late_writes,
    gates.only_the_active, gates.only_the_untainted, gates.only_the_leader,
    limits.keys_hold, limits.rates_hold,
    losses.nothing_held_by_the_gone, losses.fair_charges, losses.soon_back,
    turns.in_turn,
    handlers.one_start, handlers.done_by_its_owner, handlers.let_go, handlers.keys_hold_outside, handlers.clean_exits,
)  # fmt: skip


def violations(history: History) -> list[Violation]:
    """Everything that is wrong with a history."""
    return [violation for check in CHECKS for violation in check(history)]
