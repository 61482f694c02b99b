"""The checker: it finds nothing in a good run, and every kind of violation in one that is spoilt."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chaos.checks.every import CHECKS, violations
from chaos.faults import ABOUT, Fault
from chaos.plan import make_plan
from chaos.record import Answer, Cost, Injected, Record, Seen, Standing
from chaos.report import Setting, blame, lines, picture, summary, table, totals, write
from chaos.seats import Ended
from unit.history.good import FIRST, SECOND, STANDBY, Story, good

CALLED, LOST = 30, 31
"""Jobs of callers."""
BEFORE, AFTER = 1000.0, 1008.0
"""The losses of the good story are between these."""
Spoil = Callable[[Story, Record], None]
SPOILT: list[Any] = []


def spoils(check: str, text: str) -> Callable[[Spoil], Spoil]:
    """After this that check must say this."""

    def add(spoil: Spoil) -> Spoil:
        SPOILT.append(pytest.param(spoil, check, text, id=spoil.__name__))
        return spoil

    return add


def run_of(story: Story) -> Record:
    """A run in which all is well: a runner was killed, calls were answered, everything came back."""
    story.change(CALLED)
    story.claim(CALLED, FIRST, 30)
    story.leave(CALLED)
    story.change(LOST, max_losses=0)
    story.claim(LOST, FIRST, 31)
    story.leave(LOST, "dead", "Poison", mark=None, losses=1)
    story.register(FIRST, "z", "a", on=True, cause="PodGone", lease_until=story.clock)
    killed = Injected(
        fault=Fault.RUNNER_KILL, round=0, began=BEFORE, over=AFTER, recovered=AFTER + 2, hit=["pod-1", "dial-poll"]
    )  # fmt: skip
    return Record(
        history=story.history(runners={SECOND * 10: "dial-poll"}),
        injected=[killed, Injected(fault=Fault.BAD_CRON, round=1, began=1100, over=1101, recovered=1101.5)],
        answers=[
            Answer(n=CALLED, at=1009, status=200, job=CALLED, result={"n": CALLED}),
            Answer(n=LOST, at=1009, status=502, error="runner_failed", job=LOST),
            Answer(n=32, at=1009, status=504, error="deadline"),
        ],
        asked=3,
        keyed={1, 2, 3},
        seen=[
            Seen(group="led", at=1000, generation=1, epoch=1, leader="l1"),
            Seen(group="led", at=1001, generation=1, epoch=None, leader=None),
            Seen(group="led", at=1002, generation=1, epoch=2, leader="l2"),
        ],
        ends=[
            Ended(name="operator-1", code=-9, killed=True),
            Ended(name="dial-poll", code=70, killed=False),
            Ended(name="pod led-1", code=0, killed=False),
        ],
        standing=[Standing(group="led", told={"pods": 2}, there={"pods": 2})],
        costs=[
            Cost(when="before", pool="shared", jobs=50, rows=301, buffers=800),
            Cost(when="after", pool="shared", jobs=50, rows=400, buffers=2400),
        ],
    )


def test_a_good_run_has_no_violation() -> None:
    assert violations(run_of(good())) == []


@spoils("told_is_there", "job 99, number 98, was promised to a producer and is lost")
def promised_and_lost(_: Story, record: Record) -> None:
    record.history.told[98] = 99


@spoils("asked_again_made_once", "number 1 was made 2 times")
def made_twice(story: Story, record: Record) -> None:
    story.change(77, n=1)


@spoils("one_answer", "4 calls have 3 answers")
def unanswered(_: Story, record: Record) -> None:
    record.asked = 4


@spoils("one_answer", f"call {CALLED} was answered 2 times")
def answered_twice(_: Story, record: Record) -> None:
    record.answers[1] = record.answers[0]


@spoils("one_answer", 'call 32 was told 500 "internal"')
def told_of_a_bug(_: Story, record: Record) -> None:
    record.answers[2] = Answer(n=32, at=1009, status=500, error="internal")


@spoils("one_answer", "call 32 was never answered: TimeoutError()")
def left_waiting(_: Story, record: Record) -> None:
    record.answers[2] = Answer(n=32, at=1009, status=0, error="TimeoutError()")


@spoils("one_answer", "call 32 was never answered: late")
def cut_off_long_after_the_gateway_was_killed(_: Story, record: Record) -> None:
    record.injected.append(Injected(fault=Fault.GATEWAY_KILL, round=2, began=1000, over=1000.5, recovered=1001))
    record.answers[2] = Answer(n=32, at=1200, status=0, error="late")


@spoils("true_answers", "and its job ended as d")
def told_of_another_job(_: Story, record: Record) -> None:
    record.answers[0] = replace(record.answers[0], result={"n": 1})


@spoils("true_answers", f"call {LOST} was told {{'n': {LOST}}}, and its job ended as Poison")
def told_a_result_that_is_none(_: Story, record: Record) -> None:
    record.answers[1] = replace(record.answers[1], status=200, error="", result={"n": LOST})


@spoils("true_answers", "call 32 has a result and no job")
def result_of_nothing(_: Story, record: Record) -> None:
    record.answers[2] = Answer(n=32, at=1009, status=200)


@spoils("true_answers", f"call {CALLED} was told of a failure of a job that is done")
def told_of_no_failure(_: Story, record: Record) -> None:
    record.answers[0] = replace(record.answers[0], status=502, error="job_failed", result=None)


@spoils("true_answers", f"call {CALLED} was told of a loss that was none")
def told_of_no_loss(_: Story, record: Record) -> None:
    record.answers[0] = replace(record.answers[0], status=502, error="runner_failed", result=None)


@spoils("interrupted_by_a_fault", "job 3 was lost while nothing had happened that may do so")
def lost_without_a_fault(_: Story, record: Record) -> None:
    record.injected[0].fault = Fault.LEADER_KILL


@spoils("interrupted_by_a_fault", "job 2 was handed back while nothing had happened that may do so")
def handed_back_without_a_fault(_: Story, record: Record) -> None:
    record.injected[0].began = 1005


@spoils("interrupted_by_a_fault", "job 3 was lost while nothing had happened that may do so")
def lost_by_a_fault_that_was_not_possible(_: Story, record: Record) -> None:
    record.injected[0].skipped = "no root"


@spoils("interrupted_by_a_fault", "job 40 was lost while nothing had happened that may do so")
def lost_long_after_a_fault(story: Story, record: Record) -> None:
    story.wait(60)
    story.change(40)
    story.claim(40, SECOND, 40)
    story.change(40, state="r", incarnation=None, losses=1)


@spoils("interrupted_by_a_fault", "job 2 was handed back while nothing had happened that may do so")
def handed_back_by_a_pod_that_was_not_hit(_: Story, record: Record) -> None:
    record.injected[0].hit = ["pod-4", "dial-poll"]


@spoils("interrupted_by_a_fault", "job 3 was lost while nothing had happened that may do so")
def lost_by_a_dialler_that_was_not_hit(_: Story, record: Record) -> None:
    record.injected[0].hit = ["pod-1", "dial-socket"]


@spoils("interrupted_by_a_fault", "job 3 was lost while nothing had happened that may do so")
def lost_by_one_that_never_had_the_job_that_kills(_: Story, record: Record) -> None:
    record.injected[0].fault, record.injected[0].hit, record.injected[0].deadly = Fault.PAYLOAD_KILLS, [], [1]


@spoils("claims_stay_cheap", "a claim of 50 jobs in shared after the faults touched 401 rows")
def touches_what_it_does_not_take(_: Story, record: Record) -> None:
    record.costs[1] = replace(record.costs[1], rows=401)


@spoils("claims_stay_cheap", "a claim in shared touches 2401 pages, and 800 before the first fault")
def touches_ever_more_pages(_: Story, record: Record) -> None:
    record.costs[1] = replace(record.costs[1], buffers=2401)


@spoils("claims_stay_cheap", "what a claim costs is known of ['shared'] before and [] after")
def not_counted_in_the_end(_: Story, record: Record) -> None:
    record.costs.pop()


@spoils("claims_stay_cheap", "what a claim costs is known of [] before and [] after")
def never_counted(_: Story, record: Record) -> None:
    record.costs.clear()


@spoils("claims_stay_cheap", "a claim in shared after the faults took nothing of what waited")
def takes_nothing(_: Story, record: Record) -> None:
    record.costs[1] = replace(record.costs[1], jobs=0, rows=0)


@spoils("got_over", "bad-cron in round 1: it was taken")
def not_refused(_: Story, record: Record) -> None:
    record.injected[1].faulty = "it was taken"


@spoils("got_over", "after runner-kill in round 0 not all worked again in time: nobody acts")
def never_back(_: Story, record: Record) -> None:
    record.injected[0].recovered, record.injected[0].missing = None, "nobody acts"


@spoils("no_crash", "gateway-2 ended with 1 by itself: boom")
def crashed(_: Story, record: Record) -> None:
    record.ends.append(Ended(name="gateway-2", code=1, killed=False, words="boom"))


@spoils("epochs_grow", "the status of led told epoch 1 after 2")
def epoch_goes_back(_: Story, record: Record) -> None:
    record.seen.append(Seen(group="led", at=1003, generation=1, epoch=1, leader="l1"))


@spoils("true_in_the_end", 'the status of led says pods "3", and it is "2"')
def untrue(_: Story, record: Record) -> None:
    record.standing[0].told["pods"] = 3


@spoils("true_in_the_end", "led-1 is being deleted")
def hangs(_: Story, record: Record) -> None:
    record.stuck.append("led-1 is being deleted")


@pytest.mark.parametrize(("spoil", "check", "text"), SPOILT)
def test_a_spoilt_run_is_found(spoil: Spoil, check: str, text: str) -> None:
    story = good()
    record = run_of(story)
    spoil(story, record)
    (asked,) = (each for each in CHECKS if each.__name__ == check)
    assert text in "\n".join(violation.text for violation in asked(record))
    assert any(text in violation.text for violation in violations(record)), "it is one of those that are asked"


def test_every_check_is_spoilt_once() -> None:
    assert {param.values[1] for param in SPOILT} == {each.__name__ for each in CHECKS}


def test_a_caller_whose_gateway_was_killed_may_be_left_without_a_word() -> None:
    record = run_of(good())
    record.injected.append(Injected(fault=Fault.GATEWAY_KILL, round=2, began=1000, over=1000.5, recovered=1001))
    record.answers[2] = Answer(n=32, at=1009, status=0, error="reset")
    assert violations(record) == []


@pytest.mark.parametrize("fault", [Fault.POSTGRES_RESTART, Fault.HALF_OPEN_DATABASE])
def test_a_fault_of_the_database_may_interrupt_anybody(fault: Fault) -> None:
    record = run_of(good())
    record.injected[0].fault, record.injected[0].hit = fault, []
    assert violations(record) == []


def test_a_job_that_kills_may_interrupt_what_whoever_claimed_it_has() -> None:
    record = run_of(good())
    record.injected[0].fault, record.injected[0].hit, record.injected[0].deadly = Fault.PAYLOAD_KILLS, [], [1, 3]
    assert violations(record) == [], "1 was claimed by the first, 3 by the second"


def test_only_what_may_interrupt_is_aimed_at_somebody() -> None:
    assert {about.interrupts for about in ABOUT.values() if about.aimed} == {True}


def test_turns_are_not_asked_of_a_database_that_hung() -> None:
    story = good()
    story.change(50, priority=9)
    story.wait(3)
    for job in range(51, 80):
        story.change(job, priority=1)
        story.claim(job, SECOND, job)
        story.wait(0.2)
        story.leave(job)
    story.claim(50, SECOND, 90)
    story.leave(50)
    record = run_of(story)
    assert "turns" in {violation.promise for violation in violations(record)}
    record.history.outages.append((1000.0, story.clock))
    assert "turns" not in {violation.promise for violation in violations(record)}


def test_the_table_says_what_was_done_how_long_it_took_and_what_was_found() -> None:
    record = run_of(good())
    record.injected.append(Injected(fault=Fault.DISK_FULL, round=2, began=1, over=1, skipped="no root"))
    record.injected.append(Injected(fault=Fault.RUNNER_KILL, round=3, began=1102, over=1103, recovered=1109))
    record.injected[1].faulty = "it was taken"
    found = violations(record)
    assert [blame(record, each) for each in found] == [Fault.BAD_CRON]
    text = table(record, found).splitlines()
    assert text[1].split() == ["runner-kill", "2", "4.0", "6.0", "0"]
    assert text[2].split() == ["disk-full", "not", "possible", "here"]
    assert text[3].split() == ["bad-cron", "1", "0.5", "0.5", "1"]
    assert "1 violations" in summary(record, found)
    assert totals(record)["losses"] == 2
    drawn = picture(lines(record, found))
    assert ">runner-kill<" in drawn
    assert ">6.0<" in drawn


def test_changes_of_leader_and_of_size_are_told() -> None:
    story = good()
    record = run_of(story)
    assert totals(record)["changes of leader"] == 0
    assert totals(record)["changes of size"] == 0
    story.lead(None, 2)
    story.lead(STANDBY, 3)
    record.seen += [Seen(group="shared", at=1, generation=1, epoch=None, leader=None, size=n) for n in (1, 1, 3, 2)]
    record.seen.insert(-1, Seen(group="led", at=1, generation=1, epoch=None, leader=None, size=2))
    record.seen.insert(-1, Seen(group="shared", at=1, generation=1, epoch=None, leader=None))
    assert totals(record)["changes of leader"] == 1
    assert totals(record)["changes of size"] == 2


def test_the_results_say_when_and_where_they_were_made_and_of_what(tmp_path: Path) -> None:
    record = run_of(good())
    record.versions["postgres"] = "16.4"
    setting = Setting(
        date=datetime(2026, 11, 19, 8, tzinfo=UTC), commit="abc", machine={"cores": 2}, versions={"python": "3.11"}
    )
    found = json.loads(write(make_plan(7, 0.1), record, [], tmp_path, setting).read_text())
    assert (found["date"], found["commit"], found["machine"]) == ("2026-11-19T08:00:00Z", "abc", {"cores": 2})
    assert found["versions"] == {"python": "3.11", "postgres": "16.4"}
    assert found["claims"][1] == {"when": "after", "pool": "shared", "jobs": 50, "rows": 400, "buffers": 2400}
    page = (tmp_path / "chaos.md").read_text()
    assert "with commit abc. Machine: cores 2. Versions: python 3.11, postgres 16.4." in page
    assert "| shared | after | 50 | 400 | 2400 |" in page


def test_a_violation_in_the_history_counts_for_the_fault_before_it() -> None:
    record = run_of(good())
    record.injected[0].fault = Fault.LEADER_KILL
    assert {blame(record, each) for each in violations(record)} == {Fault.LEADER_KILL}
