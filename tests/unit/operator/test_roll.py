"""Where an update stands, and who is restarted next."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paceline_operator.api.v1alpha1 import RunnerGroupStatus
from paceline_operator.domain.actions import (
    CreatePod,
    CreateRunners,
    DeletePod,
    Drain,
    DropRevision,
    Retire,
    SaveRevision,
    Why,
)
from paceline_operator.domain.failures import Failures, Memory, Unborn
from paceline_operator.domain.lives import lives_of
from paceline_operator.domain.names import PAUSED, ROLLOUT_PAUSED
from paceline_operator.domain.plan import Plan, plan
from paceline_operator.domain.report import Trouble, report_group
from paceline_operator.domain.revision import RevisionSeen
from paceline_operator.domain.roll import Roll, RollPhase, decide_roll
from paceline_operator.domain.seen import GroupSeen, Outcomes, PodSeen
from unit.operator.world import START, group, pod, registered, runner

OLD = RevisionSeen(name="old", number=1, uid="c-1")
NEW = RevisionSeen(name="new", number=2, uid="c-2")
WATCHED = replace(NEW, watched_since=START)
STATUS = RunnerGroupStatus(current_revision="old", update_revision="new")


def seen(
    size: int, new: str = "", old: str = "", *, revisions: tuple[RevisionSeen, ...] = (OLD, WATCHED),
    after: float = 100, annotations: dict[str, str] | None = None, status: RunnerGroupStatus = STATUS,
    **strategy: object,
) -> GroupSeen:  # fmt: skip
    """A group whose runners, by their letters, have the new and the old revision, and all are at work."""
    made = group(size, annotations, updateStrategy=strategy).model_copy(update={"status": status})
    names = {**dict.fromkeys(new, "new"), **dict.fromkeys(old, "old")}
    return GroupSeen(
        group=made,
        now=START + timedelta(seconds=after),
        runners=tuple(runner(name) for name in names),
        pods=tuple(pod(name, revision=revision) for name, revision in names.items()),
        registrations=tuple(registered(name, revision=revision) for name, revision in names.items()),
        revision="new",
        revisions={each.name: each for each in revisions},
        budget=max(0, size - 1),
    )


def roll(found: GroupSeen, memory: Memory | None = None, given_up: tuple[PodSeen, ...] = ()) -> Roll:
    return decide_roll(found, lives_of(found), found.group.spec.replicas, memory or Memory(), given_up)


def decide(found: GroupSeen, memory: Memory | None = None) -> Plan:
    return plan(found, memory or Memory())


def changed(found: GroupSeen, name: str, **changes: object) -> GroupSeen:
    """With one registration that differs."""
    rows = found.registrations or ()
    other = [replace(row, **changes) if row.runner == name else row for row in rows]  # type: ignore[arg-type]
    return replace(found, registrations=tuple(other))


def with_pod(found: GroupSeen, name: str, **changes: object) -> GroupSeen:
    """With one pod that differs."""
    pods = [replace(each, **changes) if each.runner == name else each for each in found.pods]  # type: ignore[arg-type]
    return replace(found, pods=tuple(pods))


def without(found: GroupSeen, name: str) -> GroupSeen:
    """One that is not registered."""
    return replace(found, registrations=tuple(row for row in found.registrations or () if row.runner != name))


def test_a_new_group_is_not_on_trial() -> None:
    found = seen(2, new="ab", revisions=(), status=RunnerGroupStatus())
    assert roll(found).phase is RollPhase.DONE
    made = decide(found)
    assert [type(each) for each in made.actions] == [SaveRevision]
    assert report_group(found, made, Trouble()).current_revision == "new"


def test_a_first_revision_that_never_worked_is_nothing_to_go_back_to() -> None:
    broken = without(seen(1, new="a", revisions=(NEW,), status=RunnerGroupStatus()), "a")
    told = report_group(broken, decide(broken), Trouble())
    assert told.current_revision is None
    mended = without(seen(1, old="a", revisions=(OLD, NEW), status=told), "a")
    assert roll(mended).phase is RollPhase.ROLLING, "nobody is on trial"
    assert DeletePod("a-1", "p-a-1", Why.ROLLED) in decide(mended).actions


def test_a_template_that_nobody_wants_any_more_is_no_trouble() -> None:
    memory = Memory(unborn={"older": Unborn(9, START), "new": Unborn(1, START)})
    assert set(decide(seen(1, status=RunnerGroupStatus()), memory).memory.unborn) == {"new"}


def test_first_comes_one_more_runner_and_it_has_the_new_revision() -> None:
    found = seen(3, old="abc", revisions=(OLD, NEW))
    step = roll(found)
    assert (step.phase, step.surge, step.quota, step.restart) == (RollPhase.CANARY, 1, 1, ())
    assert decide(found).actions == (CreateRunners(1, "new"),)


def test_without_surge_an_idle_runner_is_the_canary() -> None:
    found = changed(seen(3, old="abc", revisions=(OLD, NEW), maxSurge=0, maxUnavailable=1), "a", held=1)
    assert roll(found).restart == ("b",)
    finished = without(found, "b")
    ended = replace(
        finished, pods=tuple(replace(each, exit_code=0) if each.runner == "b" else each for each in found.pods)
    )
    assert CreatePod("b", "r-b", 2, Why.POD_LEAVES, "new") in decide(ended).actions


def test_the_canary_is_watched_from_when_it_is_at_work() -> None:
    found = seen(3, new="d", old="abc", revisions=(OLD, NEW))
    step = roll(found)
    assert (step.phase, step.restart, step.watched_since) == (RollPhase.CANARY, (), found.now)
    assert SaveRevision(replace(NEW, watched_since=found.now)) in decide(found).actions
    not_yet = without(found, "d")
    assert roll(not_yet).watched_since is None


@pytest.mark.parametrize(("after", "phase"), [(59.9, RollPhase.CANARY), (60, RollPhase.ROLLING)])
def test_the_others_follow_when_it_has_been_watched_long_enough(after: float, phase: RollPhase) -> None:
    step = roll(seen(3, new="d", old="abc", after=after))
    assert step.phase is phase
    assert step.restart == (("a",) if phase is RollPhase.ROLLING else ())


def test_while_the_canary_is_watched_others_get_what_they_had() -> None:
    found = seen(5, new="d", old="abc", after=10)
    assert decide(found).actions == (CreateRunners(2, "old"),), "two are missing, and one more is there already"
    dead = with_pod(found, "a", exit_code=1)
    assert CreatePod("a", "r-a", 2, Why.POD_FAILED, "old") in decide(dead).actions


def test_without_a_canary_it_begins_at_once() -> None:
    found = seen(2, new="c", old="ab", revisions=(OLD, NEW), canary={"runners": 0})
    assert roll(found).phase is RollPhase.ROLLING


def test_idle_runners_go_first_and_the_leader_last() -> None:
    found = seen(4, new="e", old="abcd", maxUnavailable=2)
    found = changed(changed(found, "a", leads=True), "b", held=1)
    assert roll(found).restart == ("c", "d", "b")


def test_never_more_at_once_than_extra_and_missing_ones_together() -> None:
    found = seen(4, new="e", old="abcd", maxSurge=1, maxUnavailable=1)
    assert roll(found).restart == ("a", "b")
    draining = changed(found, "a", state="draining", held=1)
    assert roll(draining).restart == ("b",)
    two = changed(draining, "b", state="draining", held=1)
    assert roll(two).restart == ()


def test_never_below_the_floor() -> None:
    assert roll(seen(3, old="abc", canary={"runners": 0})).restart == (), "the extra one has yet to come"
    starting = seen(3, new="d", old="abc")
    starting = without(starting, "d")
    assert roll(starting).restart == ()


def test_a_predecessor_that_still_finishes_holds_the_next_one_up() -> None:
    found = seen(3, new="d", old="abc")
    again = replace(
        changed(found, "a", state="draining", held=1, oldest_job_seconds=301.0, oldest_job=4711),
        pods=(*found.pods, pod("a", 2, revision="new")),
    )
    rows = (*(again.registrations or ()), registered("a", 2, revision="new"))
    step = roll(replace(again, registrations=rows))
    assert step.restart == ()
    assert step.waits_for == "job 4711 on a, which has run for 5 min"
    status = report_group(replace(again, registrations=rows), decide(replace(again, registrations=rows)), Trouble())
    (told,) = [each for each in status.conditions if each.type == "Progressing"]
    assert (told.status, told.reason) == ("False", "RolloutStalled")
    assert "job 4711" in told.message


def test_a_pod_of_the_old_revision_that_never_started_is_not_waited_for() -> None:
    found = seen(3, new="d", old="abc")
    stuck = without(found, "a")
    assert DeletePod("a-1", "p-a-1", Why.ROLLED) in decide(stuck).actions


def test_when_all_have_it_the_extra_one_goes_and_it_is_the_current_one() -> None:
    found = seen(3, new="abcd")
    made = decide(found)
    assert made.roll is not None
    assert made.roll.settled
    status = report_group(found, made, Trouble())
    assert (status.current_revision, status.update_revision, status.updated_replicas) == ("new", "new", 4)
    assert [type(each).__name__ for each in made.actions] == ["Retire"]


def test_where_the_oldest_leads_the_youngest_goes() -> None:
    found = seen(2, new="abc", status=RunnerGroupStatus(current_revision="new"))
    made = group(2, dispatch="Leader").model_copy(update={"status": found.group.status})
    ages = {"a": 1, "b": 3, "c": 2}
    runners = tuple(runner(name, created=START + timedelta(seconds=age)) for name, age in ages.items())
    led = changed(replace(found, group=made, runners=runners), "a", leads=True)
    assert Retire(1, ("b",)) in decide(led).actions
    assert decide(replace(found, runners=runners)).actions == (Retire(1, ()),), "else who has been idle for longest"


def test_it_is_not_over_before_the_last_one_is_back_at_work() -> None:
    found = without(seen(3, new="abcd"), "c")
    step = roll(found)
    assert (step.phase, step.surge) == (RollPhase.ROLLING, 1)
    assert decide(found).actions == ()
    assert report_group(found, decide(found), Trouble()).current_revision == "old"


@pytest.mark.parametrize("lever", [PAUSED, ROLLOUT_PAUSED])
def test_a_paused_update_restarts_nobody(lever: str) -> None:
    found = seen(3, new="d", old="abc", annotations={lever: "true"})
    step = roll(found)
    assert (step.phase, step.restart, step.surge) == (RollPhase.PAUSED, (), 0)
    (told,) = [each for each in report_group(found, decide(found), Trouble()).conditions if each.type == "Progressing"]
    assert (told.status, told.reason) == ("Unknown", "RolloutPaused")


@pytest.mark.parametrize(
    ("new", "old", "fails"),
    [
        (Outcomes(20, 5), Outcomes(1000, 40), True),
        (Outcomes(20, 4), Outcomes(1000, 40), False),
        (Outcomes(19, 19), Outcomes(1000, 0), False),
        (Outcomes(20, 20), Outcomes(20, 18), False),
        (Outcomes(20, 5), Outcomes(0, 0), True),
        (Outcomes(0, 0), Outcomes(10, 0), False),
    ],
)
def test_it_is_judged_by_how_many_more_of_its_jobs_fail(new: Outcomes, old: Outcomes, fails: bool) -> None:
    found = replace(seen(3, new="d", old="abc"), outcomes={"new": new, "old": old})
    step = roll(found)
    assert (step.failed == "new", step.phase is RollPhase.BACK) == (fails, fails)
    if fails:
        assert f"{new.failed} of {new.ended} jobs failed on revision new" in step.failure


BAD_STARTS = {
    "three that ended": (Memory(unborn={"new": Unborn(3, START, "pod x: exit code 1")}), {}),
    "one that fails again and again": (Memory(failures={"d": Failures(3, START)}), {}),
    "an image that cannot be pulled": (Memory(), {"stuck": "ImagePullBackOff: no such image"}),
}


@pytest.mark.parametrize("name", BAD_STARTS)
def test_a_revision_that_does_not_start_has_failed(name: str) -> None:
    memory, changes = BAD_STARTS[name]
    found = seen(3, new="d", old="abc")
    found = with_pod(found, "d", **changes)
    assert roll(found, memory).failed == "new"


def test_what_happens_to_the_old_revision_says_nothing_about_the_new_one() -> None:
    memory = Memory(unborn={"old": Unborn(9, START)}, failures={"a": Failures(9, START)})
    assert roll(seen(3, new="d", old="abc"), memory).failed is None


def test_a_node_that_is_yet_to_come_is_no_failure() -> None:
    found = seen(3, new="d", old="abc")
    waiting = tuple(
        replace(each, stuck="Unschedulable: 0/1 nodes") if each.runner == "d" else each for each in found.pods
    )
    assert roll(replace(found, pods=waiting)).failed is None
    late = tuple(each for each in waiting if each.runner == "d")
    assert "did not register within 600 s" in roll(replace(found, pods=waiting), given_up=late).failure


def test_who_has_the_failed_revision_goes_back() -> None:
    status = STATUS.model_copy(update={"failed_revision": "new"})
    found = seen(3, new="d", old="abc", status=status)
    made = decide(found)
    assert made.roll is not None
    assert (made.roll.phase, made.roll.target, made.roll.restart) == (RollPhase.BACK, "old", ("d",))
    assert Drain(("d",), Why.ROLLED) in made.actions
    told = report_group(found, made, Trouble())
    assert (told.current_revision, told.failed_revision) == ("old", "new")
    done = seen(3, old="abc", status=told)
    assert roll(done).phase is RollPhase.DONE
    again = report_group(done, decide(done), Trouble())
    assert (again.current_revision, again.failed_revision) == ("old", "new"), "it is not tried again"
    assert {each.type: each.reason for each in again.conditions}["Ready"] == "RolledBack"


def test_why_it_went_back_stays_in_its_words() -> None:
    bad = replace(seen(3, new="d", old="abc"), outcomes={"new": Outcomes(20, 20)})
    first = report_group(bad, decide(bad), Trouble())
    later = seen(3, old="abc", status=first)
    (told,) = [each for each in report_group(later, decide(later), Trouble()).conditions if each.type == "Progressing"]
    assert "20 of 20 jobs failed on revision new (100%)" in told.message


def test_another_template_is_tried_again() -> None:
    status = STATUS.model_copy(update={"failed_revision": "worse"})
    found = seen(3, old="abc", revisions=(OLD, NEW), status=status)
    assert (roll(found).phase, roll(found).failed) == (RollPhase.CANARY, None)


def test_without_rollback_it_only_stops() -> None:
    status = STATUS.model_copy(update={"failed_revision": "new"})
    found = seen(3, new="d", old="abc", status=status, autoRollback=False)
    step = roll(found)
    assert (step.phase, step.restart, step.discard, step.surge) == (RollPhase.STOPPED, (), (), 0)


def test_at_zero_the_first_that_start_are_the_canary() -> None:
    asleep = seen(0, revisions=(OLD, NEW))
    assert roll(asleep).phase is RollPhase.CANARY
    assert decide(asleep).actions == ()
    assert report_group(asleep, decide(asleep), Trouble()).current_revision == "old"
    awake = seen(3, revisions=(OLD, NEW))
    assert decide(awake).actions == (CreateRunners(1, "new"), CreateRunners(3, "old"))


def test_a_bad_template_does_not_keep_the_old_one_from_healing() -> None:
    found = replace(seen(3, old="abc", revisions=(OLD, NEW)), hold_starts=True)
    dead = with_pod(found, "a", exit_code=1)
    made = decide(dead)
    assert [each for each in made.actions if isinstance(each, CreatePod | CreateRunners)] == [
        CreatePod("a", "r-a", 2, Why.POD_FAILED, "old")
    ]


def test_nobody_gives_up_what_it_has_for_a_template_that_is_refused() -> None:
    found = seen(3, old="abc", revisions=(OLD, NEW), maxSurge=0, maxUnavailable=1)
    assert roll(found).restart == ("a",)
    assert roll(replace(found, hold_starts=True)).restart == ()
    assert roll(replace(found, template_problem="no container")).restart == ()


def test_as_many_old_revisions_are_kept_as_somebody_may_go_back_to() -> None:
    spare = tuple(RevisionSeen(name=f"r{number}", number=number, uid=f"c-{number}") for number in range(3, 7))
    found = seen(1, new="a", revisions=(*spare, replace(WATCHED, number=9)), revisionHistoryLimit=3,
                 status=RunnerGroupStatus(current_revision="new"))  # fmt: skip
    assert decide(found).actions == (DropRevision("r3", "c-3"),)
    used = replace(found, pods=tuple(replace(each, revision="r3") for each in found.pods))
    assert not any(isinstance(each, DropRevision) for each in decide(used).actions)


def test_a_revision_that_somebody_went_back_to_is_the_newest_and_on_trial() -> None:
    found = seen(2, old="ab", revisions=(replace(OLD, number=7), WATCHED))
    (saved, *_) = decide(found).actions
    assert saved == SaveRevision(replace(WATCHED, number=8, watched_since=None))


def test_one_runner_is_restarted_when_its_annotation_changes() -> None:
    found = seen(2, new="ab", status=RunnerGroupStatus(current_revision="new"))
    asked = replace(found, runners=(runner("a", restarted_at="now"), runner("b")))
    assert decide(asked).actions == (Drain(("a",), Why.RESTARTED),)
    done = replace(
        asked, pods=tuple(replace(each, restarted_at="now") if each.runner == "a" else each for each in found.pods)
    )
    assert decide(done).actions == ()


def test_the_queue_does_not_see_the_extra_runner() -> None:
    assert decide(seen(3, old="abc", revisions=(OLD, NEW))).memory.surge == 1
    assert decide(seen(3, new="abc")).memory.surge == 0
