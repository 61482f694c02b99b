"""Callers: each gets one answer, and what it says is what became of its job."""

from collections import Counter
from collections.abc import Iterator

from chaos.faults import ABOUT, Area
from chaos.record import Answer, Record
from history.checks.violation import Violation
from history.events import JobEnded

ANSWERS = {200: {""}, 502: {"runner_failed", "job_failed"}, 504: {"deadline"}, 503: {"database", "leaving", "busy"},
           409: {"cancelled"}}  # fmt: skip
CUT_OFF = (Area.GATEWAY, Area.POSTGRES)
"""Where a connection of a caller may break without a word."""
SLACK = 70.0
"""Seconds: one that was cut off notices it when its own patience ends."""


def one_answer(record: Record) -> Iterator[Violation]:
    """None is left waiting, and none is told twice; a broken connection is one that somebody broke."""
    if record.asked != len(record.answers):
        yield Violation("answers", f"{record.asked} calls have {len(record.answers)} answers")
    for n, times in Counter(answer.n for answer in record.answers).items():
        if times > 1:
            yield Violation("answers", f"call {n} was answered {times} times")
    for answer in record.answers:
        if answer.status == 0:
            if not _cut_off(record, answer):
                yield Violation("answers", f"call {answer.n} was never answered: {answer.error}")
        elif answer.error not in ANSWERS.get(answer.status, ()):
            yield Violation("answers", f'call {answer.n} was told {answer.status} "{answer.error}"')


def true_answers(record: Record) -> Iterator[Violation]:
    """A result is that of the caller's own job, which is done; who is told of a failure has a dead letter."""
    ends = {event.job: event for event in record.history.events if isinstance(event, JobEnded)}
    for answer in record.answers:
        if answer.job is None:
            if answer.status == 200:
                yield Violation("answers", f"call {answer.n} has a result and no job")
            continue
        end = ends.get(answer.job)
        outcome = end.outcome if end else "nothing"
        if answer.status == 200 and (outcome != "d" or answer.result != {"n": answer.n}):
            text = f"call {answer.n} was told {answer.result}, and its job ended as {outcome}"
            yield Violation("answers", text, (answer.job,))
        elif answer.error == "job_failed" and outcome == "d":
            yield Violation("answers", f"call {answer.n} was told of a failure of a job that is done", (answer.job,))
        elif answer.error == "runner_failed" and (end is None or not end.losses):
            yield Violation("answers", f"call {answer.n} was told of a loss that was none", (answer.job,))


def _cut_off(record: Record, answer: Answer) -> bool:
    return any(
        ABOUT[each.fault].area in CUT_OFF and each.began <= answer.at <= each.over + SLACK for each in record.injected
    )
