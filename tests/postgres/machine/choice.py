"""Whether what a claim got is what it may and should get."""

from collections import Counter
from dataclasses import dataclass, replace

from postgres.machine.model import Play
from postgres.machine.world import LED, PATIENCE, Boot, Bucket, Job, Key, World, need


@dataclass(frozen=True, slots=True)
class Taken:
    """A claim's answer."""

    verdict: str
    refused: tuple[int, ...]
    cancelled: tuple[int, ...]
    fence: int | None
    ids: tuple[int, ...]
    told: tuple[tuple[str, int, int, int], ...]
    """Kind, priority, tries and losses of each."""


def verdict(world: World, boot: Boot) -> str:
    pool = world.runners[boot.runner].pool
    if boot.state == "gone" or not boot.leased:
        return "fenced"
    if boot.state == "draining":
        return "draining"
    if world.paused(pool):
        return "paused"
    return "standby" if pool == LED and world.leader.boot != boot.id else "ok"


def after_housekeeping(world: World, boot: Boot, before: str) -> str:
    """What the verdict becomes when the call has done the housekeeping on its way."""
    if boot.state == "gone":
        return "fenced"
    led = world.runners[boot.runner].pool == LED
    return "standby" if before == "ok" and led and world.leader.boot != boot.id else before


def may_hold(world: World, boot: Boot, job: Job, leader: int | None) -> None:
    """What must be so when a claim commits, whatever was committed since it began: promises 7 and 8."""
    need(boot.state == "active", f"registration {boot.id} is {boot.state}, and claimed job {job.id}")
    need(job.pool != LED or leader == boot.id, f"registration {boot.id} leads no more, and claimed {job.id}")
    need(world.serves(boot.runner, job), f"{boot.runner} may not claim job {job.id}")


def claim(play: Play, boot: Boot, want: int, taken: Taken, newest: int, leader: int | None) -> None:
    """Judge a claim, charge the buckets for it, and give the jobs to the runner.

    `newest`: the last fence before it. `leader`: who leads, also by the housekeeping of the claim itself.
    """
    world, now = play.world, play.now
    need(len(taken.ids) <= want, f"{len(taken.ids)} jobs were claimed and {want} wanted")
    jobs = []
    for number in taken.ids:
        job = world.job(number)
        need(job and job.place == "ready", f"job {number} was claimed, and is {job and job.place}")
        assert job is not None
        may_hold(world, boot, job, leader)
        fresh = world.hesitates(boot.runner, job) and job.ready and not job.ready.after(PATIENCE).maybe_by(now)
        need(not fresh, f"job {number} is not {PATIENCE:.0f} s old, and {boot.runner} should leave it to others")
        need(not (job.expires and job.expires.surely_by(now)), f"job {number} had expired when it was claimed")
        jobs.append(job)
    told = tuple((job.kind, job.priority, job.tries, job.losses) for job in jobs)
    need(told == taken.told, f"the runner was told {taken.told} and not {told}")
    need(
        [job.priority for job in jobs] == sorted((job.priority for job in jobs), reverse=True), "jobs come in no order"
    )
    if play.alone:
        _judge_choice(play, boot, want, jobs)
    if jobs:
        need(taken.fence is not None and taken.fence > newest, f"fence {taken.fence} is not above {newest}")
    _charge(play, boot, jobs)
    for job in jobs:
        fence = taken.fence or 0
        world.put(replace(job, place="running", holder=boot.id, fence=fence, progress=None, cancel=False))


def _judge_choice(play: Play, boot: Boot, want: int, jobs: list[Job]) -> None:
    """Strict priority, first in first out, and as many as there are."""
    world, now = play.world, play.now
    ready = [job for job in world.jobs if job.place == "ready" and world.serves(boot.runner, job)]
    by_rate = [job for job in ready if job.key and _bucket_of_key(world, job)]
    sure = [job for job in ready if job not in by_rate and _surely_open(play, boot, job)]
    caps = {}
    for kind in {job.kind for job in sure}:
        if bucket := world.bucket(boot_pool(world, boot), kind):
            caps[kind] = bucket.least(now)
    got = Counter(job.kind for job in jobs)
    for other in sure:
        if other in jobs or got[other.kind] >= caps.get(other.kind, want + 1):
            continue
        for job in jobs:
            need(other.priority <= job.priority, f"job {job.id} was claimed before job {other.id} of higher priority")
            first = job.lane == other.lane and job.priority == other.priority and other.before(job)
            need(not first, f"job {job.id} was claimed before job {other.id}, which was ready earlier")
    there = Counter(job.kind for job in sure)
    possible = sum(min(count, caps.get(kind, count)) for kind, count in there.items())
    if bucket := world.bucket(boot_pool(world, boot)):
        want = min(want, bucket.least(now))
    least = min(want, possible) - len(by_rate)  # one of those may be chosen and then be put back
    need(len(jobs) >= least, f"{boot.runner} got {len(jobs)} jobs, and {least} were there for it")


def _surely_open(play: Play, boot: Boot, job: Job) -> bool:
    waits = play.world.hesitates(boot.runner, job) and not (job.ready and job.ready.after(PATIENCE).surely_by(play.now))
    return not waits and not (job.expires and job.expires.maybe_by(play.now))


def _bucket_of_key(world: World, job: Job) -> Bucket | None:
    key = world.key(job.pool, job.key) if job.key else None
    return key.bucket if key else None


def boot_pool(world: World, boot: Boot) -> str:
    return world.runners[boot.runner].pool


def _charge(play: Play, boot: Boot, jobs: list[Job]) -> None:
    """Promise 6: burst and rate are never exceeded, whatever else goes on."""
    world, pool = play.world, boot_pool(play.world, boot)
    names: Counter[tuple[str, ...]] = Counter()
    for job in jobs:
        names.update([(pool,), (pool, job.kind)])
        if job.key and (bucket := _bucket_of_key(world, job)):
            key = world.key(pool, job.key)
            assert isinstance(key, Key)
            need(bucket.most(play.now) >= 1, f"job {job.id} was claimed, and the bucket of key {job.key} is empty")
            world.facts["key", pool, job.key] = replace(key, bucket=bucket.charged(1, play.now))
    for name, count in names.items():
        if bucket := world.bucket(*name):
            most = bucket.most(play.now)
            need(count <= most, f"{count} jobs were claimed, and the bucket of {'/'.join(name)} held {most}")
            world.facts["bucket", *name] = bucket.charged(count, play.now)
