"""Why a job or a Runner is where it is."""

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

from paceline.job import Fence, JobId
from paceline.seen import JobDetail, JobSeen, PoolSeen, RunnerSeen, Unclaimable
from paceline.taint import EFFECTS as ALL_EFFECTS
from paceline_cli.why import EFFECTS, why_job, why_runner

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def filled(row: type[Any], /, **given: Any) -> Any:
    """A row in which nothing is said but what is given."""
    return row(**{**{each.name: None for each in dataclasses.fields(row)}, **given})


def job(state: str, **given: Any) -> JobDetail:
    base: dict[str, Any] = {
        "id": JobId(7), "pool": "builds", "kind": "mail", "state": state, "priority": 5, "tags": (), "tolerations": (),
        "tries": 1, "losses": 0, "fence": Fence(3), "cancelling": False, "ready_at": NOW - timedelta(seconds=90),
        "claimed_at": NOW - timedelta(seconds=30), "runner": "r1",
    }  # fmt: skip
    found: JobDetail = filled(JobDetail, **{**base, **given})
    return found


def runner(**given: Any) -> RunnerSeen:
    base: dict[str, Any] = {
        "id": "r1", "state": "active", "slots": 2, "instances_claimed": 2, "taints": (), "leader": False,
        "pool": "builds", "last_heartbeat": NOW - timedelta(seconds=40),
    }  # fmt: skip
    found: RunnerSeen = filled(RunnerSeen, **{**base, **given})
    return found


def pool(**given: Any) -> PoolSeen:
    found: PoolSeen = filled(PoolSeen, **{"name": "builds", "paused": False, **given})
    return found


def why(
    found: JobDetail, *runners: RunnerSeen, stuck: tuple[Unclaimable, ...] = (), of: PoolSeen | None = None
) -> list[str]:
    return why_job(found, (), of or pool(), runners, stuck, NOW)


def test_a_ready_job_waits_for_whatever_stands_before_it() -> None:
    last = "it has been ready for 1m30s, with priority 5: those with a higher one go first"
    assert why(job("ready"), runner(instances_claimed=1)) == [last]
    assert why(job("ready"), runner())[0].startswith(
        "all 1 runners of its pool are busy: kubectl paceline explain GROUP"
    )
    assert why(job("ready"), runner(state="draining"))[0].startswith("no runner of its pool is active")
    assert why(job("ready"), runner(instances_claimed=0), of=pool(paused=True))[0].startswith("its pool is paused")
    lane = Unclaimable(
        pool="builds", kind="mail", tags=("gpu",), tolerations=(), jobs=1, reason="tags", detail="no runner has gpu"
    )
    assert why(job("ready", tags=("gpu",)), runner(instances_claimed=0), stuck=(lane,))[0] == (
        "no runner could take it: no runner has gpu"
    )
    assert why(job("ready"), runner(instances_claimed=0), stuck=(lane,)) == [last], "that is another lane"


def test_the_other_places() -> None:
    assert why(job("running"), runner())[0] == "it runs on r1 for 30s"
    assert "last heard of 40s ago" in why(job("running"), runner(state="stale"))[1]
    assert "its handler has been told" in why(job("running", cancelling=True), runner())[1]
    assert why(job("blocked", key="ann"))[0].startswith('it waits for another job with the key "ann"')
    assert "paceline jobs retry 7 starts it now" in why(job("scheduled", run_at=NOW + timedelta(minutes=5)))[0]
    assert why(job("dead", cause="Poison"))[0].startswith("it is dead (Poison)")
    assert why(job("done", finished_at=NOW))[0].startswith("it is done")


def test_a_runner_says_what_keeps_it() -> None:
    assert why_runner(runner(instances_claimed=0), pool(), False, (), NOW) == ["it is idle, and claims what comes"]
    told = why_runner(runner(taints=("gpu=bad:NoClaim",)), pool(paused=True), True, (), NOW)
    assert told == [
        "it has the taint gpu=bad:NoClaim: it claims only jobs that tolerate it",
        "another runner leads its group, and only the leader claims",
        "its pool is paused: paceline pool resume builds, or kubectl paceline resume GROUP",
        "all its slots are taken",
    ]
    held: JobSeen = filled(JobSeen, id=7, kind="mail", claimed_at=NOW - timedelta(seconds=5))
    assert why_runner(runner(instances_claimed=1), pool(), False, [held], NOW) == ["it runs job 7 (mail) for 5s"]


def test_every_effect_has_its_words() -> None:
    assert set(EFFECTS) == set(ALL_EFFECTS)
