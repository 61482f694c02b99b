"""A lively installation: one pool that cannot keep up, others that do, that nobody serves, or that have a leader.

Made by the calls that runners and operators make; only the hour that is past is written down by hand.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.cron import Cron, CronEntry
from paceline.database import Database
from paceline.job import JobId, NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.scaling import DecisionSeen, ScalingKept

KINDS = ("image.resize", "video.encode", "report.build")
SAMPLE = """
INSERT INTO paceline.pool_sample (pool, taken_at, seconds, ready, scheduled, blocked, running, dead, oldest_seconds,
                                  busy, idle, draining, desired, done, failed)
SELECT p.id, $2, 10, $3, $4, $5, $6, 0, $7, $8, $9, 0, $10, $11, $12 FROM paceline.pool p WHERE p.name = $1"""
ERROR = "smtplib.SMTPServerDisconnected: Connection unexpectedly closed while talking to mx1.example.com"
OUTPUT = "connecting to mx1.example.com\nEHLO worker\nsending 3 recipients\nconnection closed by peer\n"


@dataclass(frozen=True)
class Scene:
    """What tests look for."""

    dead: JobId


async def build(database: Database) -> Scene:
    """All of it."""
    await database.value("UPDATE paceline.tick SET sampled_at = 'infinity'")  # half a scene is no sample
    operating = Operating(database)
    groups = {
        name: await operating.put_group(
            install="", namespace="ci", name=name, pool=name, slots=4, leader=name == "migrations"
        )
        for name in ("builds", "mail", "migrations")
    }
    now: datetime = await database.value("SELECT clock_timestamp()")
    await _builds(database, groups["builds"], now)
    dead = await _mail(database)
    await _others(database)
    # one sample of the last ten seconds, as they were in the hour before; and no more, since nothing goes on
    await database.value("UPDATE paceline.flow SET at = clock_timestamp() - interval '5 seconds'")
    due = "UPDATE paceline.tick SET sampled_at = clock_timestamp() - interval '10 seconds', next_at = '-infinity'"
    await database.value(due)
    await database.value("SELECT paceline.tick()")
    await database.value("UPDATE paceline.tick SET sampled_at = 'infinity'")
    return Scene(dead)


async def _crew(database: Database, pool: str, number: int) -> list[Incarnation]:
    return [
        await Incarnation.register(
            database,
            Registration(
                name=f"{pool}-{n}", pool=pool, kinds=("*",), slots=4, namespace="ci", group=pool, external=False,
                hostname=f"{pool}-{n}-1", lease=timedelta(hours=1),
            ),
        )
        for n in range(number)
    ]  # fmt: skip


async def _builds(database: Database, group: int, now: datetime) -> None:
    queue = Queue(database, "builds")
    await queue.enqueue_many([NewJob(kind=KINDS[n % 3], priority=n % 10) for n in range(462)])
    await queue.enqueue_many([NewJob(kind=KINDS[0], delay=timedelta(hours=2)) for _ in range(35)])
    await queue.enqueue_many([NewJob(kind=KINDS[2], key="tenant-7") for _ in range(12)])
    crew = await _crew(database, "builds", 8)
    for runner in crew:
        jobs = (await runner.step(12)).jobs
        await runner.step(0, [Finished(job) for job in jobs[:8]])
    await crew[7].taint("gpu=bad:NoClaim")
    await database.value("UPDATE paceline.job SET ready_at = ready_at - interval '4 minutes' WHERE state = 'r'")
    await _past(database, now)
    operating = Operating(database)
    await operating.put_scaling(group, 8)
    told = [
        (52, 2, 4, "DesiredWithinRange", None, "ready 9 and running 7 want 4 runners of 4 slots"),
        (38, 4, 6, "ScaleUpLimit", "behavior.scaleUp.policies", "demand is 9; at most 2 more in 60 s"),
        (24, 6, 8, "TooManyReplicas", "maxReplicas", "demand is 31; maxReplicas is 8"),
    ]
    decisions = [
        DecisionSeen(at=now - timedelta(minutes=ago), was=was, replicas=size, reason=reason, limited_by=limit,
                     inputs={}, proposals=({"rule": "demand", "replicas": size, "text": text},))
        for ago, was, size, reason, limit, text in told
    ]  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=decisions)])


async def _past(database: Database, now: datetime) -> None:
    """An hour in which more and more came."""
    for n in range(360, 0, -1):
        age = n / 360
        wave = 1 + 0.35 * math.sin(n / 17)
        ready = round(360 * (1 - age) ** 2 * wave)
        busy = 8 if age < 0.4 else 6 if age < 0.63 else 4 if age < 0.86 else 2
        await database.value(
            SAMPLE, "builds", now - timedelta(seconds=10 * n), ready, 35, 12, busy * 4, ready * 0.7, busy,
            1 if age > 0.9 else 0, busy, round(busy * 9 * wave), 1 if n % 23 == 0 else 0,
        )  # fmt: skip
        if n <= 120:
            await database.value(
                SAMPLE, "mail", now - timedelta(seconds=10 * n), round(3 * wave), 0, 0, 4, 0.4, 2, 1, None,
                round(80 * wave), 0,
            )  # fmt: skip


async def _mail(database: Database) -> JobId:
    queue = Queue(database, "mail")
    await queue.enqueue_many([NewJob(kind="mail.send", payload={"to": f"user{n}@example.com"}) for n in range(40)])
    crew = await _crew(database, "mail", 3)
    jobs = (await crew[0].step(40)).jobs
    await crew[0].fail([Failed(job, ERROR, timedelta(0), OUTPUT) for job in jobs[:1]])
    await database.value("UPDATE paceline.job SET run_at = now(), max_tries = 2 WHERE state = 's' AND tries = 1")
    await queue.retry(jobs[0].id)
    (again,) = (await crew[1].step(1)).jobs
    await crew[1].fail([Failed(again, ERROR, None, OUTPUT)])
    await crew[0].fail([Failed(job, ERROR, None, OUTPUT) for job in jobs[1:5]])
    await crew[0].step(0, [Finished(job) for job in jobs[5:38]])
    await Cron(database, "mail").put(
        CronEntry(
            name="nightly-report", schedule="30 2 * * 1-5", timezone="Europe/Berlin", job=NewJob(kind="report.build")
        )
    )
    await Cron(database, "mail").put(CronEntry(name="digest", schedule="0 */6 * * *", job=NewJob(kind="mail.digest")))
    await Cron(database, "mail").pause("digest")
    return again.id


async def _others(database: Database) -> None:
    await Queue(database, "reports").enqueue_many([NewJob(kind="report.build", tags=("highmem",)) for _ in range(9)])
    await Queue(database, "migrations").enqueue_many([NewJob(kind="schema.change") for _ in range(2)])
    (leader, *_) = await _crew(database, "migrations", 2)
    await leader.step(2)
