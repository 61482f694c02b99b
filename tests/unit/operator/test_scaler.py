"""One group's size over time: what it is decided from, what is kept, and what the next operator begins with."""

from dataclasses import replace
from datetime import datetime, timedelta

from paceline.operating import GroupObserved
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.handlers.scaler import QUIET, SAVE_AFTER, Scaler
from unit.operator.world import START, group

WINDOW = {"scaleDown": {"stabilizationWindowSeconds": 300}}
NOTHING = GroupObserved(
    id=7, install="main", namespace="ci", name="builds", pool="builds", dispatch="Shared", paused=False, ready=0,
    running=0, scheduled=0, blocked=0, unclaimable=0, dead=0, capped=False, oldest_seconds=None, service_seconds=None,
    arrival_rate=None, leader=None, epoch=None, registered=0, busy=0, draining=0, newest=0, taints="", share=0,
    elsewhere=0, tainted=0, tainted_running=0, tolerating=0, cron_due=False,
)  # fmt: skip


def observed(ready: int = 0, **more: object) -> GroupObserved:
    return replace(NOTHING, **{"ready": ready, "share": ready, **more})  # type: ignore[arg-type]  # its fields


def scaled(mode: str = "Internal", **more: object) -> RunnerGroup:
    return group(1, slots=1, autoscaling={"mode": mode, "maxReplicas": 9, "behavior": WINDOW, **more})


def later(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def size(scaler: Scaler) -> int:
    assert scaler.decision is not None
    return scaler.decision.replicas


def test_a_group_wants_its_share() -> None:
    scaler = Scaler()
    scaler.turn(scaled(), 0, observed(8, share=3), None, START)
    assert size(scaler) == 3


def test_jobs_outside_the_cluster_want_no_runner_in_it() -> None:
    scaler = Scaler()
    scaler.turn(scaled(), 0, observed(1, running=4, elsewhere=3), None, START)
    assert size(scaler) == 2


def test_news_are_told_when_the_size_is_another_one() -> None:
    scaler = Scaler()
    assert not scaler.news(observed(5), START), "nothing is known of the group yet"
    scaler.turn(scaled(), 0, observed(), None, START)
    assert not scaler.news(observed(), later(1))
    assert scaler.news(observed(2), later(2))
    assert not scaler.news(observed(2), later(3))


def test_nobody_is_woken_where_somebody_else_decides() -> None:
    scaler = Scaler()
    scaler.turn(scaled("Recommend"), 0, observed(), None, START)
    assert not scaler.news(observed(2), later(1))
    assert size(scaler) == 2
    assert not scaler.asleep
    scaler.turn(group(1), 0, observed(2), None, later(2))
    assert scaler.decision is None


def test_where_another_one_scales_nothing_is_kept_nor_kept_for_later() -> None:
    scaler = Scaler()
    scaler.turn(scaled("External"), 1, observed(1), None, START)
    for number in range(1, 6):
        scaler.news(observed(number), later(60 * number))
    assert scaler.unsaved(7, later(400)) is None
    scaler.turn(scaled(), 1, observed(2), None, later(400))
    kept = scaler.unsaved(7, later(401))
    assert kept is not None
    assert [each.at for each in kept.decisions] == [later(400)], "only what was decided since"


def test_a_queue_that_cannot_be_read_freezes_the_size() -> None:
    scaler = Scaler()
    scaler.turn(scaled(), 4, observed(4), None, START)
    scaler.turn(scaled(), 4, None, later(1), later(60))
    assert size(scaler) == 4
    assert scaler.decision is not None
    assert scaler.decision.reason == "Frozen"


def test_a_paused_pool_keeps_its_size() -> None:
    scaler = Scaler()
    scaler.turn(scaled(), 0, observed(2), None, START)
    assert not scaler.news(observed(9, paused=True), later(1))
    assert size(scaler) == 2


def test_a_decision_is_kept_when_it_is_another_one() -> None:
    scaler = Scaler()
    for second in range(5):
        scaler.turn(scaled(), 0, observed(2 if second < 3 else 5), None, later(second))
    kept = scaler.unsaved(7, later(5))
    assert kept is not None
    assert [(each.was, each.replicas) for each in kept.decisions] == [(0, 2), (2, 5)]
    scaler.saved(kept, later(5))
    scaler.turn(scaled(), 5, observed(2), None, later(6))
    assert scaler.unsaved(7, later(6)) is not None, "the history has something new"
    scaler.turn(scaled(), 5, observed(2), None, later(6 + QUIET.total_seconds()))
    again = scaler.unsaved(7, later(40))
    assert again is not None
    assert [(each.replicas, each.reason) for each in again.decisions] == [(5, "ScaleDownStabilized")]


def test_what_was_decided_while_saving_is_saved_next() -> None:
    scaler = Scaler()
    scaler.turn(scaled(), 0, observed(2), None, START)
    kept = scaler.unsaved(7, START)
    scaler.turn(scaled(), 0, observed(3), None, later(1))
    assert kept is not None
    scaler.saved(kept, later(1))
    following = scaler.unsaved(7, later(1))
    assert following is not None
    assert [each.replicas for each in following.decisions] == [3]


def test_an_idle_group_writes_nothing_and_another_from_time_to_time() -> None:
    scaler = Scaler()
    scaler.turn(scaled(), 0, observed(), None, START)
    first = scaler.unsaved(7, START)
    assert first is not None
    scaler.saved(first, START)
    scaler.news(observed(), later(600))
    assert scaler.unsaved(7, later(600)) is None
    scaler.news(observed(2), later(601))
    second = scaler.unsaved(7, later(601))
    assert second is not None
    scaler.saved(second, later(601))
    scaler.news(observed(2), later(602))
    assert scaler.unsaved(7, later(602)) is None
    due = later(602) + SAVE_AFTER
    scaler.news(observed(2), due)
    assert scaler.unsaved(7, due) is not None


def test_what_was_last_recommended_holds_until_the_next_operator_looks() -> None:
    first, second = Scaler(), Scaler()
    first.turn(scaled(), 0, observed(), None, START)
    first.turn(scaled(), 0, observed(6), None, later(1))
    kept = first.unsaved(7, later(1))
    assert kept is not None
    second.remember(kept.state, later(400))
    second.turn(scaled(), 6, observed(), None, later(401))
    assert size(second) == 6
    second.turn(scaled(), 6, observed(), None, later(702))
    assert size(second) == 0


def test_policies_count_what_was_carried_out() -> None:
    one_a_minute = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}
    scaler = Scaler()
    scaler.turn(scaled(behavior=one_a_minute), 0, observed(5), None, START)
    assert size(scaler) == 1
    scaler.carried_out(1, START)
    scaler.turn(scaled(behavior=one_a_minute), 1, observed(5), None, later(1))
    assert size(scaler) == 1
    scaler.turn(scaled(behavior=one_a_minute), 1, observed(5), None, later(61))
    assert size(scaler) == 2


def test_it_counts_as_deep_as_the_group_may_grow() -> None:
    scaler = Scaler()
    assert scaler.depth == 0
    scaler.turn(group(1, slots=4, autoscaling={"maxReplicas": 10_000}), 0, observed(), None, START)
    assert scaler.depth == 40_000
    assert scaler.asleep
