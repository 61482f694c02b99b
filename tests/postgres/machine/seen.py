"""What the database shows of itself: where every job is, who is registered, who leads, and what time it is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from postgres.machine.world import Leader, Place, State, Violation, World, need

if TYPE_CHECKING:
    import asyncpg

LOOK: Final = """
SELECT 'job' AS what, j.id, paceline.state_word(j.state) AS state, j.incarnation, j.fence, j.tries, j.losses, j.cancel,
       j.progress::text::integer AS progress, j.seq
  FROM paceline.job j
UNION ALL
SELECT 'job', h.id, CASE h.outcome WHEN 'd' THEN 'done' WHEN 'c' THEN 'cancelled' WHEN 'e' THEN 'expired' END,
       NULL, h.fence, h.tries, h.losses, false, NULL, 0
  FROM paceline.history h
UNION ALL
SELECT 'job', d.id, 'dead', NULL, d.fence, d.tries, d.losses, false, NULL, 0 FROM paceline.dead d
UNION ALL
SELECT 'boot', i.id, CASE i.state WHEN 'a' THEN 'active' WHEN 'd' THEN 'draining' ELSE 'gone' END,
       NULL, 0, 0, 0, false, NULL, 0
  FROM paceline.incarnation i
UNION ALL
SELECT 'leader', l.epoch, r.name, l.incarnation, 0, 0, 0, false, NULL, 0
  FROM paceline.leader l LEFT JOIN paceline.runner r ON r.id = l.promoted
UNION ALL
SELECT 'tick', 0, NULL, NULL, 0, 0, 0, isfinite(t.next_at), NULL, 0 FROM paceline.tick t
UNION ALL
SELECT 'clock', (extract(epoch FROM clock_timestamp()) * 1e6)::bigint, NULL, NULL, 0, 0, 0, false, NULL, 0"""


@dataclass(frozen=True, slots=True)
class JobSeen:
    place: Place
    holder: int | None
    fence: int
    tries: int
    losses: int
    cancel: bool
    progress: int | None
    seq: int


@dataclass(frozen=True, slots=True)
class Seen:
    """One look, by one snapshot."""

    jobs: dict[int, JobSeen]
    boots: dict[int, State]
    leader: Leader
    ticked: bool
    """This transaction did the housekeeping."""
    clock: float

    def place(self, job: int) -> Place:
        return self.jobs[job].place if job in self.jobs else "purged"


async def look(connection: "asyncpg.Connection[asyncpg.Record]") -> Seen:
    jobs: dict[int, JobSeen] = {}
    boots: dict[int, State] = {}
    leader, ticked, clock = Leader(), False, 0.0
    for what, number, state, incarnation, fence, tries, losses, flag, progress, seq in await connection.fetch(LOOK):
        match what:
            case "job":
                need(number not in jobs, f"job {number} is in two places")
                jobs[number] = JobSeen(state, incarnation, fence, tries, losses, flag, progress, seq)
            case "boot":
                boots[number] = cast(State, state)
            case "leader":
                leader = Leader(incarnation, number, state)
            case "tick":
                ticked = flag
            case "clock":
                clock = number / 1e6
    return Seen(jobs, boots, leader, ticked, clock)


def agree(world: World, seen: Seen) -> None:
    """Everything is where the model has it, and nothing else is there."""
    for job in world.jobs:
        if job.place == "purged":
            need(job.id not in seen.jobs, f"job {job.id} is back from the grave")
            continue
        need(job.id in seen.jobs, f"job {job.id} is lost: it should be {job.place}")
        there = seen.jobs[job.id]
        running = job.place == "running"
        expected = JobSeen(
            job.place,
            job.holder if running else None,
            job.fence,
            job.tries,
            job.losses,
            job.cancel if running else there.cancel,
            job.progress if running else there.progress,
            job.seq if job.place in ("ready", "blocked") else there.seq,
        )
        if expected != there:
            raise Violation(f"job {job.id} should be {expected} and is {there}")
    for number, there in seen.jobs.items():
        need(world.job(number), f"nobody made job {number}, which is {there.place}")
    boots = {boot.id: boot.state for boot in world.boots}
    need(boots == seen.boots, f"the registrations should be {boots} and are {seen.boots}")
    need(world.leader == seen.leader, f"the leader should be {world.leader} and is {seen.leader}")
