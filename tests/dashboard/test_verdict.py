"""Is it keeping up, and if not why: a table."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from paceline.seen import Unclaimable
from paceline.standing import Standing
from paceline_gateway.dashboard.verdict import State, judge

REST = Standing(
    at=datetime(2026, 1, 15, tzinfo=UTC), name="builds", paused=None, max_depth=None, groups=("ci/builds",),
    dispatch="Shared", leader=None, ready=0, scheduled=0, blocked=0, running=0, unclaimable=0, dead=0, capped=False,
    oldest_seconds=None, busy=0, idle=0, draining=0, slots=0, desired=None, reason=None, limited_by=None,
    done_rate=None, failed_rate=None, ready_before=None, oldest_before=None,
)  # fmt: skip
BUSY = replace(REST, busy=2, slots=8, running=8, ready=90, oldest_seconds=45.0)
CASES = [
    (REST, State.IDLE, "Nothing to do.", ""),
    (replace(REST, scheduled=3), State.OK, "Keeping up: nothing waits for a runner.", ""),
    (replace(BUSY, oldest_seconds=4.0), State.OK, "Keeping up: the oldest ready job waits 4 s.", ""),
    (
        BUSY, State.BEHIND, "Falling behind: the oldest waits 45 s; all 8 slots are busy.",
        "paceline jobs list --pool builds --state ready",
    ),
    (
        replace(BUSY, limited_by="maxReplicas"), State.BEHIND,
        "Falling behind: the oldest waits 45 s; all 8 slots are busy, and maxReplicas allows no more runners.",
        "paceline explain ci/builds",
    ),
    (
        replace(BUSY, desired=5), State.BEHIND,
        "Falling behind: the oldest waits 45 s; 3 more runners were decided on and have not come yet.",
        "paceline jobs list --pool builds --state ready",
    ),
    (
        replace(BUSY, running=3), State.BEHIND,
        "Falling behind: the oldest waits 45 s; slots are free, so a rate or a taint holds the jobs back.",
        "paceline jobs list --pool builds --state ready",
    ),
    (
        replace(BUSY, ready_before=120), State.CATCHING_UP,
        "Catching up: the oldest waits 45 s, and fewer jobs wait than a minute ago.", "",
    ),
    (
        replace(BUSY, oldest_before=80.0), State.CATCHING_UP,
        "Catching up: the oldest waits 45 s, and that gets less.", "",
    ),
    (
        replace(REST, ready=1), State.STUCK, "A job waits, and no runner is registered.",
        "paceline run --pool builds --app MODULE:JOBS",
    ),
    (replace(REST, ready=2, desired=1), State.BEHIND, "2 jobs wait for a runner to start.", "kubectl get runners,pods"),
    (
        replace(BUSY, dispatch="Leader"), State.STUCK, "Nobody leads: in this pool only the leader claims.",
        "paceline pool show builds",
    ),
    (
        replace(BUSY, paused="pool"), State.PAUSED, "Paused: 90 jobs wait, and nobody may claim.",
        "paceline pool resume builds",
    ),
    (
        replace(BUSY, paused="groups"), State.PAUSED, "Paused: 90 jobs wait, and nobody may claim.",
        "kubectl annotate -n ci runnergroup builds paceline.dev/paused-",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("pool", "state", "text", "todo"), CASES, ids=[f"{case[1]}-{case[2][:40]}" for case in CASES])
def test_the_first_thing_that_is_wrong_is_told(pool: Standing, state: State, text: str, todo: str) -> None:
    told = judge(pool)
    assert (told.state, told.text, told.todo) == (state, text, todo)


def test_what_nobody_can_take_is_told_with_the_reason_of_its_own_pool() -> None:
    def of(pool: str, detail: str) -> Unclaimable:
        return Unclaimable(pool=pool, kind="x", tags=("gpu",), tolerations=(), jobs=3, reason="tags", detail=detail)

    told = judge(replace(BUSY, unclaimable=3), [of("other", "wrong"), of("builds", "no runner has the tag gpu")])
    assert told.state is State.STUCK
    assert told.text == "No runner can take 3 of the ready jobs (x): no runner has the tag gpu."
    (stuck,) = told.stuck
    assert (stuck.kind, stuck.tags, stuck.jobs, stuck.why) == ("x", ("gpu",), 3, "no runner has the tag gpu")
    assert stuck.remedy.startswith("Start a runner, or a group, with the tags gpu; ")
