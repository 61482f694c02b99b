"""Jobs, dead letters, cron and the past of a pool, as the page gets them."""

from datetime import timedelta

from dashboard.conftest import API
from gateway.conftest import Client, until
from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.cron import Cron, CronEntry
from paceline.database import Database
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.scaling import DecisionSeen, ScalingKept

NO_SAMPLES = "UPDATE paceline.tick SET sampled_at = 'infinity'"
TICK = "UPDATE paceline.tick SET next_at = '-infinity', sampled_at = '-infinity'"
SAMPLED = "SELECT count(*) FROM paceline.pool_sample"


async def worker(database: Database) -> Incarnation:
    return await Incarnation.register(database, Registration(name="r1", pool="builds", kinds=("*",)))


async def test_finished_jobs_are_listed_the_newest_first_in_pages(queue: Queue, person: Client) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(5)])
    runner = await worker(queue.database)
    jobs = (await runner.step(5)).jobs
    await runner.step(0, [Finished(job) for job in jobs])
    first = (await person.get(f"{API}/finished", params={"limit": 3})).json()
    second = (await person.get(f"{API}/finished", params={"limit": 3, "after": first["next"]})).json()
    assert [each["id"] for each in first["jobs"] + second["jobs"]] == sorted((job.id for job in jobs), reverse=True)
    assert second["next"] is None
    assert {(each["state"], each["runner"], each["kind"]) for each in first["jobs"]} == {("done", "r1", "mail")}
    assert (await person.get(f"{API}/finished", params={"kind": "other"})).json()["jobs"] == []


async def test_a_dead_letter_is_shown_with_its_cause_and_goes_back(queue: Queue, person: Client) -> None:
    made = await queue.enqueue("mail")
    runner = await worker(queue.database)
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "no such mailbox", None, output="dialling")])
    (dead,) = (await person.get(f"{API}/dead")).json()["dead"]
    assert (dead["id"], dead["cause"], dead["error"]) == (made.id, "Failed", "no such mailbox")
    (tried,) = (await person.get(f"{API}/jobs/{made.id}/logs")).json()["attempts"]
    assert (tried["outcome"], tried["error"], tried["output"]) == ("failed", "no such mailbox", "dialling")
    went = (await person.post(f"{API}/dead/redrive", json={"ids": [made.id]})).json()
    assert went["ids"] == [made.id]
    assert (await person.get(f"{API}/jobs/{made.id}")).json()["state"] == "ready"


async def test_a_cron_entry_is_paused_and_goes_on(queue: Queue, person: Client) -> None:
    await Cron(queue.database, "builds").put(
        CronEntry(name="team/nightly", schedule="0 3 * * *", job=NewJob(kind="report"))
    )
    for word, paused in (("pause", True), ("resume", False)):
        answer = await person.post(f"{API}/cron/team/nightly/{word}", params={"pool": "builds"})
        assert answer.status_code == 204, answer.text
        (entry,) = (await person.get(f"{API}/cron")).json()
        assert (entry["name"], entry["pool"], entry["paused"]) == ("team/nightly", "builds", paused)


async def test_the_past_has_samples_and_what_was_decided(queue: Queue, person: Client) -> None:
    await queue.database.value(NO_SAMPLES)  # the gateway would take one of what is not yet complete
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    operating = Operating(queue.database)
    group = await operating.put_group(install="i", namespace="ci", name="builds", pool="builds")
    await operating.put_scaling(group, 1)
    now = await queue.database.value("SELECT clock_timestamp()")
    decided = DecisionSeen(
        at=now - timedelta(seconds=30), was=0, replicas=3, reason="TooManyReplicas", limited_by="maxReplicas",
        inputs={}, proposals=({"rule": "demand", "replicas": 5, "text": "5 runners for 5 jobs"},),
    )  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=[decided])])
    await queue.database.value(TICK)
    await queue.tick()
    await until(lambda: queue.database.value(SAMPLED))  # by us, or by the gateway
    past = (await person.get(f"{API}/pools/builds/past", params={"span": 900})).json()
    (sample,) = [dict(zip(past["columns"], row, strict=True)) for row in past["rows"]]
    assert (sample["ready"], sample["desired"], sample["busy"]) == (3, 3, 0)
    assert past["decisions"] == [
        {
            "at": decided.at.isoformat(), "group": "ci/builds", "was": 0, "replicas": 3, "reason": "TooManyReplicas",
            "limited_by": "maxReplicas", "why": "5 runners for 5 jobs",
        }
    ]  # fmt: skip
    (pool,) = (await person.get(f"{API}/pools")).json()
    assert (pool["pending"], pool["verdict"]["text"]) == (3, "3 jobs wait for 3 runners to start.")


async def test_a_span_longer_than_what_is_kept_is_refused(queue: Queue, person: Client) -> None:
    await queue.enqueue("mail")
    assert (await person.get(f"{API}/pools/builds/past", params={"span": 86401})).status_code == 422
    assert (await person.get(f"{API}/pools/nothing/past")).status_code == 404
