"""What follows from what is seen, rule by rule."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paceline_operator.domain.actions import (
    CreatePod,
    CreateRunners,
    DeletePod,
    DeleteRunner,
    Drain,
    Fence,
    Forget,
    Mirror,
    Protect,
    Relabel,
    Retire,
    SetBudget,
    Suspect,
    Why,
)
from paceline_operator.domain.failures import Failures, Memory, Unborn
from paceline_operator.domain.names import PAUSED
from paceline_operator.domain.plan import Plan, plan
from paceline_operator.domain.seen import GroupSeen, NodeSeen, PodSeen, Registration, RunnerSeen
from unit.operator.world import KEPT, START, group, outside, pod, registered, runner

ENDED = {"exit_code": 1, "phase": "Failed", "end_reason": "Error"}


def seen(
    replicas: int = 1,
    runners: tuple[RunnerSeen, ...] = (),
    pods: tuple[PodSeen, ...] = (),
    rows: tuple[Registration, ...] | None = (),
    *,
    nodes: dict[str, NodeSeen] | None = None,
    annotations: dict[str, str] | None = None,
    after: float = 60,
    **spec: object,
) -> GroupSeen:
    return GroupSeen(
        group=group(replicas, annotations, **spec), now=START + timedelta(seconds=after), runners=runners, pods=pods,
        registrations=rows, nodes=nodes or {}, revision="rev", revisions=KEPT, budget=max(0, replicas - 1),
    )  # fmt: skip


def one(**changes: object) -> GroupSeen:
    """A group of one that is as it should be."""
    return seen(1, (runner("a"),), (pod("a"),), (registered("a", **changes),))


def decide(found: GroupSeen, memory: Memory | None = None) -> Plan:
    return plan(found, memory or Memory())


def test_what_is_as_wanted_is_left_alone() -> None:
    assert decide(one()).actions == ()


def test_a_new_group_gets_its_runners_and_its_budget() -> None:
    made = decide(replace(seen(3), budget=None))
    assert made.actions == (CreateRunners(3, "rev"), SetBudget(2))


@pytest.mark.parametrize(("most", "size", "least"), [(1, 3, 2), (0, 3, 3), (5, 3, 0), (1, 0, 0)])
def test_the_budget_is_what_evictions_must_leave(most: int, size: int, least: int) -> None:
    found = replace(seen(size, disruptionBudget={"maxUnavailable": most}), budget=None)
    assert SetBudget(least) in decide(found).actions


def test_a_runner_without_a_pod_gets_one_and_never_a_number_twice() -> None:
    lost = seen(1, (runner("a", pod_name="a-7", incarnation=3),))
    assert decide(lost).actions == (CreatePod("a", "r-a", 8, Why.NO_POD, "rev"),)
    leaving = seen(1, (runner("a"),), (pod("a", 2, deleting=True),), (registered("a", 2),))
    assert decide(leaving).actions[-1] == CreatePod("a", "r-a", 3, Why.POD_LEAVES, "rev")


def test_a_pod_that_drains_is_replaced_before_it_is_gone() -> None:
    assert decide(one(state="draining")).actions == (CreatePod("a", "r-a", 2, Why.POD_LEAVES, "rev"),)


def test_a_pod_that_has_yet_to_register_is_waited_for() -> None:
    found = seen(1, (runner("a"),), (pod("a"),))
    assert decide(found).actions == ()
    assert decide(found).again_at == START + timedelta(seconds=600)


def test_a_pod_that_never_registers_is_given_up_and_one_that_did_is_not() -> None:
    late = seen(1, (runner("a"),), (pod("a"),), after=600)
    assert DeletePod("a-1", "p-a-1", Why.STARTUP_TIMEOUT) in decide(late).actions
    known = seen(1, (runner("a", pod_name="a-1", incarnation=1),), (pod("a"),), after=600)
    assert decide(known).actions == ()


def test_too_many_are_retired_and_those_that_are_not_ready_first() -> None:
    found = seen(1, (runner("a"), runner("b"), runner("c")), (pod("a"), pod("b"), pod("c")),
                 (registered("a"), registered("b", leased=False)))  # fmt: skip
    assert Retire(2, ("b", "c")) in decide(found).actions
    assert decide(found).again_at == found.now + timedelta(seconds=1)


def test_who_was_retired_goes_when_it_holds_nothing() -> None:
    rows = (registered("a"), registered("b", retiring=True, state="draining"))
    found = seen(1, (runner("a"), runner("b")), (pod("a"), pod("b")), rows)
    assert decide(found).actions == (DeleteRunner("b", "r-b", Why.SCALE_DOWN),)
    busy = replace(found, registrations=(rows[0], replace(rows[1], held=1)))
    assert decide(busy).actions == ()


def test_with_the_database_away_nothing_is_done() -> None:
    found = seen(5, (runner("a"),), (pod("a", **ENDED),), None)
    assert decide(found).actions == ()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"exit_code": 137, "end_reason": "OOMKilled"}, "OOMKilled"),
        ({"exit_code": 137, "end_reason": "Evicted"}, "Evicted"),
        ({"exit_code": 143, "end_reason": "Error", "disrupted": "EvictionByEvictionAPI"}, "Evicted"),
        ({"exit_code": 143, "end_reason": "Error", "disrupted": "PreemptionByScheduler"}, "Preempted"),
        ({"exit_code": 1, "end_reason": "Error"}, "Error"),
        ({"exit_code": -1}, "Error"),
        ({"exit_code": 0}, "Completed"),
    ],
)
def test_a_dead_pod_is_fenced_with_its_cause(changes: dict[str, object], cause: str) -> None:
    found = seen(1, (runner("a"),), (pod("a", **changes),), (registered("a", held=2),))
    assert Fence({"p-a-1": cause}) in decide(found).actions


def test_a_registration_without_a_pod_is_fenced_and_one_outside_is_nobodys() -> None:
    rows = (
        registered("a"),
        registered("b", 4),
        Registration(runner="laptop", external=True, incarnation=9, state="active"),
    )
    found = seen(1, (runner("a"), runner("laptop", external=True)), (pod("a"),), rows)
    fences = [each for each in decide(found).actions if isinstance(each, Fence)]
    assert fences == [Fence({"p-b-4": "PodGone"})]


def test_a_pod_that_is_told_to_go_is_not_dead() -> None:
    found = seen(1, (runner("a"),), (pod("a", deleting=True),), (registered("a", held=1),))
    assert not [each for each in decide(found).actions if isinstance(each, Fence)]


def test_a_silent_node_makes_suspects_once_and_clears_them_once() -> None:
    found = replace(one(), nodes={"n1": NodeSeen(ready=False)})
    first = decide(found)
    assert first.actions == (Suspect(frozenset({"p-a-1"})),)
    assert decide(found, first.memory).actions == ()
    assert decide(one(), first.memory).actions == (Suspect(frozenset()),)


def test_a_cordoned_node_drains_those_on_it_once() -> None:
    found = replace(one(), nodes={"n1": NodeSeen(cordoned=True)})
    assert decide(found).actions == (Drain(("a",), Why.CORDONED),)
    assert not [each for each in decide(replace(found, registrations=(registered("a", state="draining"),))).actions
                if isinstance(each, Drain)]  # fmt: skip


def test_old_runners_are_renewed_a_few_at_a_time_idle_ones_first() -> None:
    rows = tuple(registered(name, registered_seconds=100, held=held) for name, held in (("a", 1), ("b", 0), ("c", 0)))
    people = (runner("a"), runner("b"), runner("c"))
    found = seen(3, people, (pod("a"), pod("b"), pod("c")), rows, lifetime={"maxAgeSeconds": 90})
    assert decide(found).actions == (Drain(("b",), Why.SERVED),)
    missing = replace(found, registrations=rows[:2])
    assert not [each for each in decide(missing).actions if isinstance(each, Drain)]
    young = replace(found, registrations=tuple(replace(row, registered_seconds=89) for row in rows))
    assert decide(young).actions == ()


def test_an_ephemeral_runner_that_is_done_goes_and_another_comes() -> None:
    found = seen(1, (runner("a"),), (pod("a", exit_code=0, phase="Succeeded"),), lifetime={"maxJobs": 1})
    assert decide(found).actions == (DeleteRunner("a", "r-a", Why.SERVED), CreateRunners(1, "rev"))
    failed = seen(1, (runner("a"),), (pod("a", **ENDED),), lifetime={"maxJobs": 1})
    assert decide(failed).actions == (CreatePod("a", "r-a", 2, Why.POD_FAILED, "rev"),)


def test_a_pod_that_was_replaced_goes() -> None:
    found = seen(1, (runner("a"),), (pod("a", **ENDED), pod("a", 2)), (registered("a", 2),))
    assert decide(found).actions == (DeletePod("a-1", "p-a-1", Why.REPLACED),)


def test_a_pod_of_nobody_goes_and_one_with_an_owner_is_left_to_kubernetes() -> None:
    found = seen(0, (), (pod("x", owner=None), pod("y")), ())
    assert decide(found).actions == (DeletePod("x-1", "p-x-1", Why.ORPHANED),)


def test_rows_of_runners_that_are_no_more_are_forgotten_when_nobody_lives_in_them() -> None:
    rows = (Registration(runner="x"), Registration(runner="y", external=True), registered("z"))
    found = seen(0, (), (pod("z"),), rows)
    assert decide(found).actions == (Forget(("x",)), Mirror(("y",)))


def test_a_long_job_protects_its_pod_until_it_is_over() -> None:
    assert decide(one(held=1, oldest_job_seconds=61.0)).actions == (Protect("a-1", "p-a-1", True),)
    assert decide(one(held=1, oldest_job_seconds=59.0)).actions == ()
    over = seen(1, (runner("a"),), (pod("a", protected=True),), (registered("a"),))
    assert decide(over).actions == (Protect("a-1", "p-a-1", False),)


def test_a_pod_without_its_label_gets_it_back() -> None:
    found = seen(1, (runner("a"),), (pod("a", astray=True),), (registered("a"),))
    assert decide(found).actions == (Relabel("a-1", "p-a-1", "a"),)


def test_a_paused_group_keeps_its_size_and_replaces_what_dies() -> None:
    paused = {PAUSED: "true"}
    found = seen(5, (runner("a"),), (pod("a", **ENDED),), annotations=paused)
    actions = decide(replace(found, budget=0)).actions
    assert actions == (CreatePod("a", "r-a", 2, Why.POD_FAILED, "rev"),)


def test_a_deleted_group_lets_all_go() -> None:
    found = replace(one(), group=group(1, None, START))
    made = decide(found)
    assert made.actions == (DeleteRunner("a", "r-a", Why.GROUP_DELETED),)
    assert (made.size, made.again_at) == (0, START + timedelta(seconds=360))


def test_a_group_without_a_template_has_only_runners_outside() -> None:
    found = seen(3, (runner("laptop", external=True),), (), (outside("laptop"),), template=None)
    assert decide(replace(found, budget=0)).actions == ()


@pytest.mark.parametrize("changes", [{"template_problem": "no"}, {"hold_starts": True}])
def test_what_cannot_start_is_not_tried(changes: dict[str, object]) -> None:
    found = replace(seen(3, (runner("a"),)), **changes)  # type: ignore[arg-type]  # its fields
    assert decide(found).actions == ()


def test_a_failed_pod_is_replaced_at_once_then_later_and_later() -> None:
    found = seen(1, (runner("a", pod_name="a-1", incarnation=1),), (pod("a", **ENDED),), after=10)
    first = decide(found)
    assert first.actions == (CreatePod("a", "r-a", 2, Why.POD_FAILED, "rev"),)
    again = seen(1, (runner("a", pod_name="a-2", incarnation=2),), (pod("a", 2, **ENDED),), after=11)
    second = decide(again, first.memory)
    assert second.actions == ()
    assert second.again_at == again.now + timedelta(seconds=1)
    assert decide(replace(again, now=again.now + timedelta(seconds=1)), second.memory).actions == (
        CreatePod("a", "r-a", 3, Why.POD_FAILED, "rev"),
    )


def test_after_three_that_did_not_start_only_one_at_a_time_is_tried() -> None:
    names = ("a", "b", "c", "d")
    found = seen(4, tuple(map(runner, names)), tuple(pod(name, **ENDED) for name in names), after=10)
    first = decide(found)
    assert first.memory.unborn["rev"].count == 4
    assert first.actions == ()
    later = replace(found, now=found.now + timedelta(seconds=400))
    assert [type(each) for each in decide(later, first.memory).actions] == [CreatePod]
    trying = replace(later, pods=(*found.pods[1:], pod("a", 2, created=later.now)))
    assert decide(trying, first.memory).actions == ()


def test_one_that_registers_ends_the_care() -> None:
    memory = Memory(unborn={"rev": Unborn(7, START)}, failures={"b": Failures(9, START)})
    found = seen(2, (runner("a"), runner("b")), (pod("a"), pod("b", **ENDED)), (registered("a"),), after=1000)
    made = decide(found, memory)
    assert made.memory.unborn["rev"].count == 1, "the one that failed is counted anew"
    assert CreatePod("b", "r-b", 2, Why.POD_FAILED, "rev") in made.actions


def test_a_pod_that_leaves_is_drained_before_its_successor_comes() -> None:
    """Else the successor's registration would fence it, and what it holds would be lost."""
    found = seen(1, (runner("a"),), (pod("a", deleting=True),), (registered("a", held=1),))
    assert decide(found).actions == (Drain(("a",), Why.POD_LEAVES), CreatePod("a", "r-a", 2, Why.POD_LEAVES, "rev"))
    told = replace(found, registrations=(registered("a", held=1, state="draining"),))
    assert decide(told).actions == (CreatePod("a", "r-a", 2, Why.POD_LEAVES, "rev"),)
