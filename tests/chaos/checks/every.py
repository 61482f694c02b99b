"""All checks of a run: the queue's promises in its history, and what else was promised to those around it."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from chaos.checks import answers, calm, cheap, kept, standing
from chaos.record import Record
from history.checks import ends, handlers, turns
from history.checks.every import CHECKS as OF_A_HISTORY
from history.checks.violation import Violation
from history.events import History, JobChanged

Check: TypeAlias = Callable[[Record], Iterator[Violation]]
ELSEWHERE = (ends.all_kept, handlers.clean_exits, turns.in_turn)
"""The first two are asked of what chaos knows of producers and programs, the last not while a database hangs."""
CHECKS: tuple[Check, ...] = (
    kept.told_is_there, kept.asked_again_made_once, answers.one_answer, answers.true_answers,
    calm.interrupted_by_a_fault, standing.got_over, standing.no_crash, standing.epochs_grow, standing.true_in_the_end,
    cheap.claims_stay_cheap,
)  # fmt: skip
HANGS = 10.0
"""Seconds around an outage in which a transaction may hold its locks for longer than the check of turns explains."""


def violations(record: Record) -> list[Violation]:
    """Everything that is wrong with a run."""
    history = record.history
    found = [violation for check in OF_A_HISTORY if check not in ELSEWHERE for violation in check(history)]
    found += [violation for violation in turns.in_turn(history) if not _hung(history, violation)]
    return found + [violation for check in CHECKS for violation in check(record)]


def _hung(history: History, violation: Violation) -> bool:
    moments = [event.at for event in violation.events if isinstance(event, JobChanged)]
    return any(begin <= at <= end + HANGS for at in moments for begin, end in history.outages)
