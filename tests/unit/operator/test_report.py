"""What is told about groups and Runners."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paceline_operator.api.v1alpha1 import Condition, Leader, QueueStatus, Runner, RunnerGroupStatus
from paceline_operator.domain.failures import Memory, Unborn
from paceline_operator.domain.lives import lives_of
from paceline_operator.domain.plan import plan
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.report import Trouble, report_group
from paceline_operator.domain.report_runner import report_runner
from paceline_operator.domain.seen import GroupSeen, RunnerSeen, read_runner
from unit.operator.world import KEPT, START, group, pod, registered, runner


def seen(replicas: int = 1, *names: str, **spec: object) -> GroupSeen:
    return GroupSeen(
        group=group(replicas, **spec), now=START + timedelta(seconds=60), runners=tuple(map(runner, names)),
        pods=tuple(map(pod, names)), registrations=tuple(map(registered, names)), revision="rev", revisions=KEPT,
        budget=0,
    )  # fmt: skip


def report(
    found: GroupSeen, trouble: Trouble | None = None, memory: Memory | None = None, **more: object
) -> RunnerGroupStatus:
    return report_group(found, plan(found, memory or Memory()), trouble or Trouble(), **more)  # type: ignore[arg-type]  # its own


def conditions(status: RunnerGroupStatus) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


def test_a_group_that_is_as_wanted_says_so() -> None:
    status = report(seen(2, "a", "b"))
    assert (
        status.replicas,
        status.ready_replicas,
        status.busy_replicas,
        status.idle_replicas,
        status.pending_replicas,
    ) == (2, 2, 0, 2, 0)
    assert (status.pool, status.selector, status.observed_generation) == ("builds", "paceline.dev/group=builds", 3)
    assert conditions(status) == {
        "Ready": ("True", "AsWanted"),
        "Available": ("True", "Available"),
        "Progressing": ("True", "Stable"),
        "ScalingActive": ("False", "Manual"),
        "QueueReachable": ("True", "Reachable"),
        "Paused": ("False", "NotPaused"),
    }


@pytest.mark.parametrize(
    ("names", "message"),
    [("", "no runner is wanted now"), ("a", "1 runner is ready"), ("ab", "2 runners are ready")],
)
def test_how_many_are_ready_is_said_as_people_say_it(names: str, message: str) -> None:
    ready = next(each for each in report(seen(len(names), *names)).conditions if each.type == "Ready")
    assert (ready.reason, ready.message) == ("AsWanted", message)


def test_busy_ones_are_counted_and_those_that_start_are_pending() -> None:
    found = seen(3, "a", "b", "c")
    rows = (registered("a", held=2), registered("b"))
    status = report(replace(found, registrations=rows))
    assert (status.ready_replicas, status.busy_replicas, status.idle_replicas, status.pending_replicas) == (2, 1, 1, 1)
    assert conditions(status)["Ready"] == ("False", "ScalingUp")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (seen(2, "a"), "ScalingUp"),
        (seen(0, "a"), "ScalingDown"),
        (replace(seen(1, "a"), pods=(pod("a", exit_code=1),), registrations=()), "RunnersNotReady"),
        (replace(seen(1, "a"), group=group(1, {"paceline.dev/paused": "true"})), "Paused"),
        (replace(seen(1, "a"), group=group(1, None, START)), "Deleting"),
        (replace(seen(1, "a"), template_problem="no container"), "TemplateInvalid"),
        (replace(seen(1, "a"), pods=(pod("a", stuck="ErrImagePull: x"),), registrations=()), "CannotStart"),
    ],
)
def test_a_group_that_is_not_ready_says_why(found: GroupSeen, reason: str) -> None:
    assert conditions(report(found))["Ready"] == ("False", reason)


def test_a_database_that_cannot_be_used_is_told_and_old_numbers_stay() -> None:
    old = RunnerGroupStatus(ready_replicas=5, busy_replicas=2, queue=QueueStatus(ready=7))
    found = seen(1, "a")
    away = replace(found, registrations=None, group=found.group.model_copy(update={"status": old}))
    status = report(away, Trouble(queue=(Reason.UNREACHABLE, "gone")))
    assert conditions(status)["QueueReachable"] == ("False", "Unreachable")
    assert conditions(status)["Ready"] == ("False", "Unreachable")
    assert conditions(status)["Available"] == ("Unknown", "Unreachable")
    assert (status.ready_replicas, status.busy_replicas, status.queue) == (5, 2, QueueStatus(ready=7))


def test_what_the_api_server_refuses_is_told() -> None:
    status = report(seen(1), Trouble(start=(Reason.QUOTA, "exceeded quota")))
    assert conditions(status)["Progressing"] == ("False", "QuotaExceeded")


def test_pods_that_do_not_start_are_told_in_their_words() -> None:
    memory = Memory(unborn={"rev": Unborn(3, START, "pod a-3: exit code 1 (Error)")})
    found = replace(seen(1, "a"), pods=(), registrations=())
    (told,) = [each for each in report(found, memory=memory).conditions if each.type == "Progressing"]
    assert (told.reason, told.message) == (
        "RunnersFailing", "3 pods in a row ended before they had registered; pod a-3: exit code 1 (Error)",
    )  # fmt: skip


def test_a_shared_login_is_warned_about() -> None:
    (told,) = [
        each for each in report(seen(1, "a"), Trouble(shared_login=True)).conditions if each.type == "QueueReachable"
    ]
    assert "runnerSecretRef" in told.message


def test_a_leader_is_shown_only_where_there_is_one() -> None:
    found = seen(1, "a", dispatch="Leader")
    led = report(found, leader=Leader(runner="a", epoch=4))
    assert conditions(led)["LeaderElected"] == ("True", "Elected")
    assert led.leader == Leader(runner="a", epoch=4)
    assert conditions(report(found, leader=Leader()))["LeaderElected"] == ("False", "NobodyEligible")
    assert "LeaderElected" not in conditions(report(seen(1, "a"), leader=Leader(runner="a")))


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = report(seen(1, "a"))
    found = seen(1, "a")
    later = replace(found, now=found.now + timedelta(hours=1), group=found.group.model_copy(update={"status": first}))
    assert report(later) == first
    broken = report(replace(later, registrations=()))
    times = {each.type: each.last_transition_time for each in broken.conditions}
    assert times["Ready"] == later.now
    assert times["Paused"] == found.now


def resource(**status: object) -> Runner:
    meta = {"name": "a", "uid": "r-a", "generation": 1}
    return Runner.model_validate({"metadata": meta, "spec": {"groupRef": {"name": "builds"}}, "status": status})


def ours(**status: object) -> RunnerSeen:
    return replace(read_runner(resource(**status), "u-1"), owned=True)


def told(found: GroupSeen) -> object:
    return report_runner(lives_of(found)[0], found)


def test_a_runners_plain_life_is_one_write() -> None:
    new = replace(seen(1, "a"), runners=(ours(),))
    assert told(replace(new, registrations=())) is None
    status = report_runner(lives_of(new)[0], new)
    assert status is not None
    assert (status.pod_name, status.incarnation) == ("a-1", 1)
    assert [(each.type, each.status) for each in status.conditions] == [("Ready", "True"), ("Registered", "True")]
    written = replace(new, runners=(ours(**status.model_dump(by_alias=True)),))
    assert told(written) is None
    leaving = replace(written, registrations=(registered("a", retiring=True, state="draining"),))
    assert told(leaving) is None


def before(status: str, reason: str) -> RunnerSeen:
    """A Runner of which that was said, when its first pod worked."""
    ready = {"type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": START}
    return ours(podName="a-1", incarnation=1, conditions=[ready])


def test_a_runner_whose_pod_failed_is_not_ready() -> None:
    was = before("True", "Registered")
    found = replace(
        seen(1, "a"), runners=(was,), pods=(pod("a", exit_code=137, end_reason="OOMKilled"),), registrations=()
    )
    status = report_runner(lives_of(found)[0], found)
    assert status is not None
    assert [(each.type, each.status, each.reason, each.message) for each in status.conditions] == [
        ("Ready", "False", "Failed", "OOMKilled"), ("Registered", "False", "NotRegistered", ""),
    ]  # fmt: skip
    assert all(isinstance(each, Condition) for each in status.conditions)


def said(found: GroupSeen) -> list[tuple[str, str, str, str]] | None:
    status = report_runner(lives_of(found)[0], found)
    return (
        None if status is None else [(each.type, each.status, each.reason, each.message) for each in status.conditions]
    )


def nobody(reason: str, message: str) -> list[tuple[str, str, str, str]]:
    return [("Ready", "False", reason, message), ("Registered", "False", "NotRegistered", "")]


def test_a_runner_whose_pod_cannot_start_says_so_once_in_a_word() -> None:
    stuck = pod("a", stuck="Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.", phase="Pending", node="")
    found = replace(seen(1, "a"), runners=(ours(),), pods=(stuck,), registrations=())
    assert said(replace(found, now=START + timedelta(seconds=9))) is None, "it may find a place yet"
    assert said(found) == nobody("CannotStart", "pod a-1: Unschedulable")
    status = report_runner(lives_of(found)[0], found)
    assert status is not None
    assert (status.pod_name, status.incarnation) == (None, None), "it has never worked"
    more = replace(stuck, stuck="Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.")
    assert said(replace(found, runners=(ours(**status.model_dump(by_alias=True)),), pods=(more,))) is None


def test_a_runner_whose_first_pod_failed_says_so() -> None:
    failed = replace(
        seen(1, "a"), runners=(ours(),), pods=(pod("a", exit_code=1, end_reason="Error"),), registrations=()
    )
    assert said(failed) == nobody("Failed", "Error")
    assert said(replace(failed, pods=(pod("a", exit_code=0, end_reason="Completed"),))) is None
    assert said(replace(failed, pods=(pod("a", deleting=True),))) is None


@pytest.mark.parametrize("was", [("True", "Registered"), ("False", "Tainted")])
def test_a_runner_says_no_longer_what_has_ceased_to_be_true(was: tuple[str, str]) -> None:
    found = replace(seen(1, "a"), runners=(before(*was),), pods=(pod("a", 2),), registrations=())
    assert said(found) == nobody("NotRegistered", "pod a-2 has yet to register")
    assert said(replace(found, pods=())) == nobody("NotRegistered", "it has no pod")
    assert said(replace(found, registrations=None)) is None, "nobody knows who works"


def test_a_runner_of_which_it_was_said_that_it_does_not_work_waits_for_its_next_pod_in_silence() -> None:
    found = replace(seen(1, "a"), runners=(before("False", "Draining"),), pods=(pod("a", 2),), registrations=())
    assert said(found) is None
