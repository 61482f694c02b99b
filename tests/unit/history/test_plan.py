"""A seed is a promise: it gives the same plan again, and any seed gives one in which everything goes wrong."""

from history.plan import LED, LED_RUNNERS, SHARED_RUNNERS, Fault, Outage, make_plan


def test_the_same_seed_gives_the_same_plan() -> None:
    assert make_plan(7, 2000) == make_plan(7, 2000)


def test_another_seed_gives_other_jobs_and_other_faults() -> None:
    one, other = make_plan(7, 2000), make_plan(8, 2000)
    assert one.producers != other.producers
    assert one.blows != other.blows


def test_every_fault_is_in_every_plan() -> None:
    for seed in range(20):
        plan = make_plan(seed, 2000)
        assert set(plan.blows) == {*SHARED_RUNNERS, *LED_RUNNERS}
        assert {blow.fault for blows in plan.blows.values() for blow in blows} == set(Fault)
        assert {outage for _, outage in plan.outages} == set(Outage)


def test_every_job_is_enqueued_once_and_of_every_sort_there_are_some() -> None:
    plan = make_plan(7, 2000)
    batches = [(pool, batch) for batches in plan.producers for pool, batch in batches]
    numbers = [n for _, batch in batches for n in range(batch.first, batch.first + len(batch.jobs))]
    assert sorted(numbers) == list(range(2000))
    jobs = [job for _, batch in batches for job in batch.jobs]
    assert {job.kind for job in jobs} == {"quick", "metered", "slow", "blocking", "threaded"}
    assert {job.key_limit for job in jobs} == {None, 1, 3}
    assert {job.priority for job in jobs} == {1, 5, 9}
    assert any(job.delay for job in jobs)
    assert any(job.tolerations for job in jobs)
    assert any(pool == LED for pool, _ in batches)
    assert {wanted.outcome for wanted in plan.expected.values()} == {"d", "Failed"}
    assert any(wanted.cancelled for wanted in plan.expected.values())
