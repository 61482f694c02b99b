"""Why a job or a Runner is where it is, in sentences. Values in, words out."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from paceline_cli.output import ago, span

if TYPE_CHECKING:
    from paceline.seen import Attempt, JobDetail, JobSeen, PoolSeen, RunnerSeen, Unclaimable


def why_job(
    job: "JobDetail",
    attempts: "Sequence[Attempt]",
    pool: "PoolSeen | None",
    runners: "Sequence[RunnerSeen]",
    stuck: "Sequence[Unclaimable]",
    now: datetime,
) -> list[str]:
    """What keeps a job, the nearest reason first, each with what to do."""
    if job.state == "running":
        return [*_running(job, runners, now)]
    if job.state == "ready":
        return [*_ready(job, pool, runners, stuck, now)]
    if job.state == "scheduled":
        failed = next((each for each in attempts if each.outcome in ("failed", "lost")), None)
        why = f"its last try {failed.outcome} ({failed.cause})" if failed else "it is not to start before then"
        return [f"it waits for its time, {ago(job.run_at, now)}: {why}; paceline jobs retry {job.id} starts it now"]
    if job.state == "blocked":
        return [
            f'it waits for another job with the key "{job.key}": they run one after the other; '
            f"paceline pool key {job.key} --limit N lets more run at once"
        ]
    if job.state == "dead":
        return [
            f"it is dead ({job.cause}) after {job.tries} tries and {job.losses} lost runners; "
            f"paceline jobs retry {job.id} tries it again"
        ]
    return [f"it is {job.state}: it has ended {ago(job.finished_at, now)}, nothing is left to do"]


def _running(job: "JobDetail", runners: "Sequence[RunnerSeen]", now: datetime) -> Iterator[str]:
    since = "" if job.claimed_at is None else f" for {span((now - job.claimed_at).total_seconds())}"
    yield f"it runs on {job.runner}{since}"
    on = next((each for each in runners if each.id == job.runner), None)
    if on is not None and on.state == "stale":
        yield f"that runner was last heard of {ago(on.last_heartbeat, now)}: the job goes back when its lease is over"
    if on is not None and on.state == "draining":
        yield "that runner drains: it finishes the job, and leaves"
    if job.cancelling:
        yield "it is cancelled, and its handler has been told: it ends when that does"
    if job.deadline is not None:
        yield f"it times out {ago(job.deadline, now)}"


def _ready(
    job: "JobDetail", pool: "PoolSeen | None", runners: "Sequence[RunnerSeen]", stuck: "Sequence[Unclaimable]",
    now: datetime,
) -> Iterator[str]:  # fmt: skip
    if pool is not None and pool.paused:
        yield f"its pool is paused: paceline pool resume {job.pool}, or kubectl paceline resume GROUP"
    for lane in stuck:
        if (lane.kind, lane.tags, lane.tolerations) == (job.kind, job.tags or (), job.tolerations or ()):
            yield f"no runner could take it: {lane.detail}"
    active = [each for each in runners if each.state == "active"]
    if not active:
        yield "no runner of its pool is active: kubectl paceline status shows whether some are coming"
    busy = [each for each in active if each.instances_claimed >= each.slots]
    if active and len(busy) == len(active):
        yield f"all {len(active)} runners of its pool are busy: kubectl paceline explain GROUP says why no more"
    if pool is not None and pool.rate is not None:
        yield f"its pool starts at most {pool.rate:g} jobs per second"
    waited = "" if job.ready_at is None else f" for {span((now - job.ready_at).total_seconds())}"
    yield f"it has been ready{waited}, with priority {job.priority}: those with a higher one go first"


def why_runner(
    runner: "RunnerSeen", pool: "PoolSeen | None", led: bool, held: "Sequence[JobSeen]", now: datetime
) -> list[str]:
    """What a Runner does and what keeps it from claiming; `led`: in its group only the leader claims."""
    found = []
    if runner.state == "stale":
        found.append(
            f"it was last heard of {ago(runner.last_heartbeat, now)}: its lease is over, and its jobs have gone back"
        )
    if runner.state == "draining":
        found.append("it drains: it claims nothing, finishes what it has, and leaves")
    found += [f"it has the taint {each}: {EFFECTS[each.rpartition(':')[2]]}" for each in runner.taints]
    if led and not runner.leader:
        found.append("another runner leads its group, and only the leader claims")
    if pool is not None and pool.paused:
        found.append(f"its pool is paused: paceline pool resume {runner.pool}, or kubectl paceline resume GROUP")
    if runner.instances_claimed >= runner.slots:
        found.append("all its slots are taken")
    found += [
        f"it runs job {each.id} ({each.kind})"
        + ("" if each.claimed_at is None else f" for {span((now - each.claimed_at).total_seconds())}")
        for each in held
    ]
    return found or ["it is idle, and claims what comes"]


EFFECTS = {
    "NoClaim": "it claims only jobs that tolerate it",
    "PreferNoClaim": "it leaves jobs to others until they are 5 s old",
    "NoLead": "it is never elected",
    "Drain": "it finishes and gives up its pod until the taint is gone",
}
