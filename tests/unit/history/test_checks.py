"""The checker itself: it finds nothing in a good history, and every kind of violation in one that is spoilt."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from history.checks.every import CHECKS, violations
from history.checks.handlers import overlaps
from history.checks.violation import explain
from history.events import Exit, Expected, JobChanged, Late
from unit.history.good import (
    FIRST,
    KEY,
    LEADER,
    LED,
    METERED,
    PLAIN,
    SECOND,
    STANDBY,
    TIDE,
    TOLERANT,
    Story,
    good,
)

Spoil = Callable[[Story], dict[str, Any] | None]
SPOILT: list[Any] = []


def spoils(check: str, text: str) -> Callable[[Spoil], Spoil]:
    """After this story that check must say this; others may find fault with it too."""

    def add(spoil: Spoil) -> Spoil:
        SPOILT.append(pytest.param(spoil, check, text, id=spoil.__name__))
        return spoil

    return add


@spoils("one_end", "job 20 is never finished")
def unfinished(story: Story) -> None:
    story.change(20)


@spoils("one_end", "job 20 is lost: it left the live table for nowhere")
def lost(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.mark("ok", 20, 20)
    story.leave(20)
    story.events.pop()


@spoils("one_end", "job 20 ended 2 times: in history as d, dead as Failed")
def in_two_places(story: Story) -> None:
    story.change(20, max_tries=1)
    story.claim(20, FIRST, 20)
    story.mark("failed", 20, 20)
    story.leave(20)
    story.end(20, "dead", "Failed", fence=20)


@spoils("one_end", "job 20 is in dead and live")
def dead_and_live(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.mark("failed", 20, 20)
    story.end(20, "dead", "Failed", fence=20)


@spoils("one_end", "job 20 was for a moment in two places or in none")
def in_no_place_for_a_moment(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.leave(20)
    story.events.pop()
    story.end(20, fence=20)


@spoils("one_end", "job 21 ended in history and was never made")
def out_of_nowhere(story: Story) -> None:
    story.mark("ok", 21, 1)
    story.end(21)


@spoils("all_kept", "job 99 was promised to a producer and is lost")
def a_lost_promise(story: Story) -> dict[str, Any]:
    history = story.history()
    return {"told": {**history.told, 99: 99}, "expected": {**history.expected, 99: Expected("d", 0)}}


@spoils("all_kept", "nobody was told what became of number 99 of the plan")
def never_enqueued(story: Story) -> dict[str, Any]:
    return {"expected": {**story.history().expected, 99: Expected("d", 0)}}


@spoils("as_planned", "job 20 ended as d after 0 failed tries, not as Failed after 2")
def succeeds_against_the_plan(story: Story) -> dict[str, Any]:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.leave(20)
    return {"expected": {**story.history().expected, 20: Expected("Failed", 2)}}


@spoils("as_planned", "job 20 is poison after 1 losses, max_losses is 3")
def poison_too_early(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.leave(20, "dead", "Poison", mark=None, losses=1)


@spoils("as_planned", "job 20 was cancelled by nobody")
def cancelled_by_nobody(story: Story) -> None:
    story.change(20)
    story.leave(20, outcome="c", mark=None)


@spoils("one_of_a_name", '2 live jobs are called "twin"')
def twins(story: Story) -> None:
    for job in (20, 21):
        story.change(job, dedupe="twin")
    for job in (20, 21):
        story.claim(job, FIRST, job)
        story.leave(job)


@spoils("unbroken", "the record of job 20 has a gap")
def a_gap(story: Story) -> None:
    story.change(20, state="s")
    story.change(20, state="r")
    story.events.pop()
    story.claim(20, FIRST, 20)
    story.leave(20)


@spoils("one_claim", "job 20 was claimed while it was not ready")
def claimed_twice(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.claim(20, LEADER, 21)
    story.leave(20)


@spoils("fences_grow", "job 20 was claimed with fence 19 after 20")
def a_smaller_fence(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.change(20, state="r", incarnation=None)
    story.wait(0.1)
    story.claim(20, FIRST, 19)
    story.marks.pop(-2)
    story.leave(20)


@spoils("fences_grow", f"fence 20 belongs to incarnations {FIRST} and {LEADER}")
def a_shared_fence(story: Story) -> None:
    for job, incarnation in ((20, FIRST), (21, LEADER)):
        story.change(job)
        story.claim(job, incarnation, 20)
        story.leave(job)


@spoils("late_writes", "a late ack of job 3 was taken")
def a_late_ack(story: Story) -> dict[str, Any]:
    return {"late": [Late(call="ack", job=3, fence=4, refused=False)]}


@spoils("late_writes", f"job 20 was acknowledged by {LEADER} while {FIRST} held it")
def anothers_ack(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.leave(20, incarnation=LEADER)


@spoils("late_writes", "job 20 was acknowledged while nobody held it")
def an_ack_of_a_ready_job(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.change(20, state="r", incarnation=None)
    story.leave(20)


@spoils("only_the_active", f"job 20 was claimed by {FIRST}, which drains")
def a_claim_after_the_drain(story: Story) -> None:
    story.change(20)
    story.register(FIRST, "d", "a")
    story.claim(20, FIRST, 20)
    story.leave(20)


@spoils("only_the_active", "job 20 was claimed by 9, which was never registered")
def a_claim_of_a_stranger(story: Story) -> None:
    story.change(20)
    story.claim(20, 9, 20)
    story.leave(20)


@spoils("only_the_untainted", 'job 21 was claimed by a Runner with the taint "maint:NoClaim"')
def a_claim_after_the_taint(story: Story) -> None:
    story.change(20, lane=TOLERANT)
    story.change(21, lane=PLAIN)
    story.taint(FIRST)
    story.taint(FIRST, source="api")
    story.taint(FIRST, on=False)  # of two sources one is left
    for job in (20, 21):
        story.claim(job, FIRST, job)
        story.leave(job)
    story.taint(FIRST, on=False, source="api")
    story.change(22)
    story.claim(22, FIRST, 22)
    story.leave(22)


@spoils("only_the_leader", f"job 20 was claimed by {LEADER}, which does not lead")
def a_claim_of_the_old_leader(story: Story) -> None:
    story.change(20, lane=LED)
    story.lead(STANDBY, 2)
    story.claim(20, LEADER, 20)
    story.leave(20)


@spoils("only_the_leader", "epoch 1 came after 1")
def an_old_epoch(story: Story) -> None:
    story.lead(STANDBY, 1)


@spoils("keys_hold", f"2 jobs of key {KEY} run, its limit is 1")
def a_key_over_its_limit(story: Story) -> None:
    for job in (20, 21):
        story.change(job, key=KEY)
        story.claim(job, FIRST, job, start=False)
    for job in (20, 21):
        story.mark("start", job, job)
        story.wait(0.1)
        story.leave(job)
        story.wait(0.1)


@spoils("keys_hold_outside", f"2 handlers of key {KEY} run at once, its limit is 1")
def handlers_of_a_key_at_once(story: Story) -> None:
    for job in (20, 21):
        story.change(job, key=KEY)
        story.claim(job, FIRST, job)
        story.leave(job)
    story.wait(0.1)
    story.mark("still", 20, 20)
    story.mark("still", 21, 21)


@spoils("rates_hold", "the kind 40 let 3.000 through at once, its burst is 2")
def three_of_a_burst_of_two(story: Story) -> None:
    story.wait(60)
    for job in (20, 21, 22):
        story.change(job, lane=METERED)
        story.claim(job, FIRST, job)
        story.charge("kind", 40)
    for job in (20, 21, 22):
        story.leave(job)


@spoils("rates_hold", "the kind 40 let 2.100 through at once, its burst is 2")
def too_many_in_a_long_window(story: Story) -> None:
    story.wait(60)
    for number in range(12):
        job = 20 + number
        story.change(job, lane=METERED)
        story.claim(job, FIRST, job)
        story.charge("kind", 40)
        story.leave(job)
        story.wait(0.9)


@spoils("rates_hold", f"1 claims did not charge the key {TIDE}")
def a_claim_without_a_charge(story: Story) -> None:
    story.change(20, key=TIDE)
    story.claim(20, FIRST, 20)
    story.leave(20)


@spoils("nothing_held_by_the_gone", f"{FIRST} is gone and holds 1 jobs")
def a_job_stays_with_the_gone(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.register(FIRST, "z", "a", cause="Replaced")
    story.wait(0.1)
    story.leave(20)


@spoils("fair_charges", "job 20 was charged 1 tries and 0 losses")
def a_try_for_nothing(story: Story) -> dict[str, Any]:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.mark("failed", 20, 20)
    story.change(20, state="r", incarnation=None, tries=1)
    story.wait(0.1)
    story.claim(20, FIRST, 21)
    story.leave(20)
    return {"expected": {**story.history().expected, 20: Expected("d", 1)}}


@spoils("fair_charges", "job 20 was charged 0 tries and 1 losses")
def a_loss_without_a_lost_runner(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.change(20, state="r", incarnation=None, losses=1)
    story.wait(0.1)
    story.claim(20, FIRST, 21)
    story.leave(20)


@spoils("soon_back", f"the lease of {FIRST} had ended for 30.0 s when it was noticed")
def noticed_too_late(story: Story) -> dict[str, Any]:
    story.register(FIRST, "z", "a", cause="LeaseExpired", lease_until=story.clock - 40)
    return {"outages": [(story.clock - 45, story.clock - 30)]}


@spoils("soon_back", f"the lease of {FIRST} was ended 1.000 s too early")
def ended_too_early(story: Story) -> None:
    story.register(FIRST, "z", "a", cause="LeaseExpired", lease_until=story.clock + 1)


@spoils("in_turn", "job 20 of priority 9 waited while many of lower ones were claimed")
def a_higher_priority_waits(story: Story) -> None:
    story.change(20, priority=9)
    pass_over(story, 20, 10, lane=TOLERANT)


@spoils("in_turn", "job 20 waited while many that were ready later were claimed")
def an_older_one_waits(story: Story) -> None:
    story.change(20)
    pass_over(story, 20, 10)


def pass_over(story: Story, waiting: int, times: int, **fields: Any) -> None:
    """Others are claimed, and at last the one that waits."""
    story.wait(3)
    for job in range(30, 30 + times):
        story.change(job, **fields)
        story.claim(job, FIRST, job)
        story.leave(job)
        story.wait(0.25)
    story.claim(waiting, FIRST, 90)
    story.leave(waiting)


def test_jobs_that_are_claimed_together_do_not_pass_each_other_over() -> None:
    story = good()
    jobs = [20, *range(30, 42)]
    for job in jobs:
        story.change(job)
    story.wait(3)
    for place, job in enumerate(reversed(jobs)):
        story.claim(job, FIRST, 30, on=place > 0)
        story.wait(0.25)
    for job in jobs:
        story.leave(job)
    assert violations(story.history()) == []


def test_a_job_that_was_locked_when_others_were_claimed_was_not_passed_over() -> None:
    story = good()
    story.change(20)
    pass_over(story, 20, 9)
    assert violations(story.history()) == []


@spoils("one_start", "job 20 was begun with fence 33, without a claim")
def begun_without_a_claim(story: Story) -> None:
    story.change(20)
    story.mark("start", 20, 33)
    story.marks.insert(0, story.marks.pop())
    story.claim(20, FIRST, 34)
    story.leave(20)


@spoils("one_start", "job 1 was begun twice with fence 1")
def begun_twice(story: Story) -> None:
    story.mark("start", 1, 1)


@spoils("done_by_its_owner", "job 20 counts as ok with fence 20, and no handler came to that")
def never_done(story: Story) -> None:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.leave(20, mark=None)


@spoils("done_by_its_owner", "job 20 counts as failed with fence 20, and no handler came to that")
def never_failed(story: Story) -> dict[str, Any]:
    story.change(20)
    story.claim(20, FIRST, 20)
    story.change(20, state="s", incarnation=None, tries=1)
    story.change(20, state="r")
    story.wait(0.1)
    story.claim(20, FIRST, 21)
    story.leave(20)
    return {"expected": {**story.history().expected, 20: Expected("d", 1)}}


@spoils("let_go", "job 3 was still run with fence 4 0.700 s after it was begun with fence 5")
def a_zombie(story: Story) -> None:
    story.wait(-0.6)
    story.mark("still", 3, 4)


@spoils("clean_exits", "runner r1 ended with 1 after no signal")
def a_crash(story: Story) -> dict[str, Any]:
    ends = [(0, ()), (70, ()), (-9, ("SIGKILL",)), (1, ())]
    return {"exits": [Exit(runner="r1", pid=1, code=code, signals=signals) for code, signals in ends]}


def test_a_good_history_has_no_violations() -> None:
    assert violations(good().history()) == []


@pytest.mark.parametrize(("spoil", "check", "text"), SPOILT)
def test_a_violation_is_found_by_the_check_of_its_promise(spoil: Spoil, check: str, text: str) -> None:
    story = good()
    history = story.history(**(spoil(story) or {}))
    found = {each.__name__: [violation.text for violation in each(history)] for each in CHECKS}
    assert text in found[check]


def test_every_check_has_a_history_that_it_does_not_like() -> None:
    assert {param.values[1] for param in SPOILT} == {check.__name__ for check in CHECKS}


def test_a_stopped_zombie_is_measured_and_not_judged() -> None:
    story = good()
    story.wait(-0.6)
    story.mark("still", 3, 4, pid=666)
    history = story.history(stopped={666: story.clock - 10})
    assert violations(history) == []
    assert len(list(overlaps(history))) == 1
    assert violations(replace(history, stopped={666: story.clock + 1})) != []


def test_two_claims_of_one_commit_are_seen_together() -> None:
    """A key's job that ends and the next one that begins by the same commit never run at once."""
    story = good()
    story.change(20, key=KEY)
    story.change(21, key=KEY, state="b")
    story.claim(20, FIRST, 20)
    story.wait(0.1)
    story.change(21, state="r")
    story.leave(20)
    last, end = story.events.pop(-2), story.events.pop()
    story.claim(21, FIRST, 21)
    assert isinstance(last, JobChanged)
    commit = story.events[-1].order[0]
    story.events += [replace(last, order=(commit, 900)), replace(end, order=(commit, 901))]
    story.wait(0.1)
    story.leave(21)
    assert violations(story.history()) == []


def test_what_is_shown_is_the_whole_story_of_the_job() -> None:
    story = good()
    fields = a_late_ack(story)
    shown = explain(history := story.history(**(fields or {})), violations(history))
    assert "1 violations" in shown
    assert "late writes: a late ack of job 3 was taken" in shown
    assert f"ready (tries 0, losses 0) -> running by {SECOND} with fence 4 (tries 0, losses 0)" in shown
    assert "running by 2 with fence 4 (tries 0, losses 0) -> ready (tries 0, losses 1)" in shown
    assert "in history as d: fence 5 of 1, tries 0, losses 1" in shown
    assert "ok, fence 5" in shown
    assert "a late ack with fence 4 was taken" in shown
