"""What taints, leaders and runners outside the cluster make of a plan."""

from dataclasses import replace

import pytest

from paceline.taint import Taint
from paceline_operator.domain.actions import (
    CreatePod,
    CreateRunners,
    DeletePod,
    DeleteRunner,
    Forget,
    MarkLeader,
    Mirror,
    Retire,
    SetTaints,
    Why,
)
from paceline_operator.domain.failures import Failures, Memory
from paceline_operator.domain.names import DRAIN, TAINTS
from paceline_operator.domain.seen import GroupSeen, RunnerSeen
from paceline_operator.domain.taints import Declared
from unit.operator.test_plan import decide, seen
from unit.operator.world import START, group, outside, pod, registered, runner

MAINT = Taint("maint", "", "Drain")
GPU = Taint("gpu", "bad", "NoClaim")
GONE: dict[str, object] = {"incarnation": None, "state": None, "pod_uid": None}
RESTING = {**GONE, "declared": "annotation maint:Drain", "taints": "maint:Drain"}
DAY = 24 * 3600.0


def said(name: str, *taints: Taint, problem: str = "", **changes: object) -> RunnerSeen:
    """A Runner with taints by annotation."""
    sources = {"spec": frozenset[Taint]()} if problem else {"annotation": frozenset(taints), "spec": frozenset[Taint]()}
    return runner(name, declared=Declared(sources, problem), **changes)


def one(tainted: RunnerSeen, **row: object) -> GroupSeen:
    return seen(1, (tainted,), (pod("a"),), (registered("a", **row),))


def test_taints_of_an_object_are_written_once() -> None:
    assert decide(one(said("a", GPU))).actions == (SetTaints("a", "annotation", (GPU,)),)
    kept = {"declared": "annotation gpu=bad:NoClaim", "taints": "gpu=bad:NoClaim"}
    assert decide(one(said("a", GPU), **kept)).actions == ()
    assert decide(one(said("a"), **kept)).actions == (SetTaints("a", "annotation", ()),)


def test_taints_that_cannot_be_read_change_nothing() -> None:
    kept = {"declared": "annotation gpu=bad:NoClaim", "taints": "gpu=bad:NoClaim"}
    assert decide(one(said("a", problem="what?"), **kept)).actions == ()


def test_taints_are_there_before_their_runner_is() -> None:
    found = seen(1, (said("a", GPU),), (pod("a"),))
    assert decide(found).actions == (SetTaints("a", "annotation", (GPU,)),)


def test_a_drained_runner_is_replaced_and_keeps_its_job_and_its_pod_until_it_is_done() -> None:
    kept = {"declared": "annotation maint:Drain", "taints": "maint:Drain", "state": "draining"}
    assert decide(one(said("a", MAINT), held=1, **kept)).actions == (CreateRunners(1, "rev"),)


def test_a_drain_taint_acts_before_the_database_shows_it() -> None:
    assert decide(one(said("a", MAINT))).actions == (SetTaints("a", "annotation", (MAINT,)), CreateRunners(1, "rev"))


def test_a_drain_taint_by_command_acts_too() -> None:
    assert decide(one(said("a"), taints="maint:Drain", state="draining")).actions == (CreateRunners(1, "rev"),)


@pytest.mark.parametrize("changes", [{"exit_code": 0, "phase": "Succeeded"}, {"phase": "Pending"}])
def test_a_drained_runner_gives_up_its_pod(changes: dict[str, object]) -> None:
    row = registered(
        "a", incarnation=None, state=None, pod_uid=None, declared="annotation maint:Drain", taints="maint:Drain"
    )
    found = seen(0, (said("a", MAINT),), (pod("a", **changes),), (row,))
    assert decide(found).actions == (DeletePod("a-1", "p-a-1", Why.TAINTED),)


def test_a_drained_runner_without_a_pod_rests() -> None:
    row = registered(
        "a", incarnation=None, state=None, pod_uid=None, declared="annotation maint:Drain", taints="maint:Drain"
    )
    found = seen(1, (said("a", MAINT), runner("b")), (pod("b"),), (row, registered("b")))
    made = decide(found)
    assert made.actions == ()
    assert [life.rests for life in made.lives] == [True, False]


def test_without_its_taint_it_comes_back_and_whoever_stood_in_for_it_goes() -> None:
    row = registered("a", **GONE)
    found = seen(1, (said("a"), runner("b")), (pod("b"),), (row, registered("b")))
    assert decide(found).actions == (CreatePod("a", "r-a", 1, Why.NO_POD, "rev"), Retire(1, ()))


def test_one_that_fails_is_not_taken_for_one_that_comes_back() -> None:
    row = registered("a", **GONE)
    found = seen(1, (runner("a"), runner("b")), (pod("b"), pod("a", exit_code=1)), (row, registered("b")))
    failed = Memory(failures={"a": Failures(9, found.now)}, counted=frozenset({"p-a-1"}))
    assert decide(found, failed).actions == (Retire(1, ("a",)),)


@pytest.mark.parametrize("annotations", [{DRAIN: "true"}, {TAINTS: "maint:Drain"}])
def test_a_drained_group_has_no_size(annotations: dict[str, str]) -> None:
    found = seen(3, (runner("a"),), (pod("a"),), (registered("a", held=1),), annotations=annotations)
    made = decide(replace(found, budget=0))
    assert (made.size, made.actions) == (0, ())


def test_a_group_that_the_database_drains_has_no_size() -> None:
    assert decide(replace(seen(3), kept_taints="maint:Drain", budget=0)).actions == ()


def test_a_group_stays_drained_while_its_taints_cannot_be_read() -> None:
    found = replace(seen(3, annotations={TAINTS: "maint:Drian"}), kept_taints="maint:Drain", budget=0)
    assert decide(found).actions == ()
    assert decide(replace(found, kept_taints="")).actions[0] == CreateRunners(3, "rev")


def test_the_leaders_pod_is_marked_and_only_its() -> None:
    pods = (pod("a", leads=True), pod("b"))
    found = seen(2, (runner("a"), runner("b")), pods, (registered("a"), registered("b", leads=True)))
    assert decide(found).actions == (MarkLeader("a-1", "p-a-1", False), MarkLeader("b-1", "p-b-1", True))


def test_who_comes_from_outside_gets_an_object() -> None:
    assert decide(seen(0, rows=(outside("laptop"),))).actions == (Mirror(("laptop",)),)
    there = seen(0, (runner("laptop", external=True),), rows=(outside("laptop"),))
    assert decide(there).actions == ()


def test_who_was_not_heard_of_for_a_day_is_forgotten() -> None:
    away = outside("laptop", incarnation=None, state=None, leased=False, seen_seconds=DAY)
    found = seen(0, (runner("laptop", external=True),), rows=(away,))
    assert decide(found).actions == (DeleteRunner("laptop", "r-laptop", Why.UNSEEN), Forget(("laptop",)))
    assert decide(replace(found, registrations=(replace(away, seen_seconds=DAY - 1),))).actions == ()


def test_what_was_made_by_hand_is_left_alone() -> None:
    strangers = (runner("x", owned=False), runner("y", owned=False, external=True))
    assert decide(seen(0, strangers)).actions == ()


def test_taints_outside_the_cluster_are_the_runners_own() -> None:
    found = seen(0, (said("laptop", GPU, external=True),), rows=(outside("laptop"),))
    assert decide(found).actions == (SetTaints("laptop", "annotation", (GPU,), external=True),)


def test_a_deleted_group_takes_the_objects_of_outsiders_along() -> None:
    found = replace(seen(0, (runner("laptop", external=True),), rows=(outside("laptop"),)), group=group(0, None, START))
    assert decide(found).actions == (DeleteRunner("laptop", "r-laptop", Why.GROUP_DELETED),)
