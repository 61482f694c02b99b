"""The plan: every fault in half an hour, the same one for the same seed, and no two of one area together."""

import itertools

import pytest

from chaos.blows.every import AFTERWARDS, BLOWS
from chaos.faults import ABOUT, QUICK, Fault
from chaos.plan import make_plan
from chaos.work import KEY_RATE, KIND_RATE, POOLS, batches, calls

SEEDS = range(20)


def test_every_fault_is_known_and_can_be_done() -> None:
    assert set(ABOUT) == set(BLOWS) == set(Fault)
    assert set(AFTERWARDS) <= set(Fault)
    assert len({about.how for about in ABOUT.values()}) == len(Fault), "each says how it is done"


@pytest.mark.parametrize("seed", SEEDS)
def test_in_half_an_hour_every_fault_happens(seed: int) -> None:
    assert make_plan(seed, 30).faults == set(Fault)


def test_a_minute_is_a_sample() -> None:
    sizes = {len(make_plan(seed, 1).rounds) for seed in SEEDS}
    assert min(sizes) >= 1
    assert max(sizes) < 20
    assert len(frozenset[Fault]().union(*(make_plan(seed, 1).faults for seed in SEEDS))) > len(Fault) / 2


def test_the_time_is_about_used_up() -> None:
    for seed in SEEDS:
        plan = make_plan(seed, 30)
        planned = sum(each.quiet + ABOUT[each.fault].seconds for each in plan.rounds)
        assert 30 * 60 <= planned < 30 * 60 + 70


def test_the_same_seed_is_the_same_plan_and_the_same_choices() -> None:
    first, second = make_plan(7, 30), make_plan(7, 30)
    assert first == second
    assert first != make_plan(8, 30)
    draws = [[each.stream(7).random() for each in plan.rounds] for plan in (first, second)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == len(draws[0])


def test_two_at_once_are_of_different_areas() -> None:
    pairs = [each for seed in SEEDS for each in make_plan(seed, 30).rounds if each.second]
    assert pairs
    for each in pairs:
        assert each.second in QUICK
        assert ABOUT[each.fault].area is not ABOUT[each.second].area
        assert each.later > 0


def test_chosen_faults_are_all_done_however_short_the_time() -> None:
    chosen = (Fault.NODE_LOSS, Fault.BAD_CRON, Fault.DISK_FULL)
    plan = make_plan(3, 0.1, chosen)
    assert sorted(each.fault for each in plan.rounds) == sorted(chosen)
    assert all(each.second is None for each in plan.rounds)
    assert plan.replay == "make chaos MINUTES=0.1 SEED=3 ONLY=node-loss,bad-cron,disk-full"


def test_jobs_are_of_all_sorts_and_the_same_for_the_same_seed() -> None:
    def some(name: str) -> list[object]:
        return list(itertools.islice(batches(5, name, itertools.count(1, 4), 5.0), 200))

    assert some("ledger") == some("ledger")
    assert some("ledger") != some("http")
    jobs = [each for batch in itertools.islice(batches(5, "x", itertools.count(), 5.0), 200) for each in batch.jobs]
    assert {each.pool for each in jobs} == set(POOLS)
    assert [each.n for each in jobs] == list(range(len(jobs)))


@pytest.mark.parametrize("pool", POOLS)
def test_each_pool_has_jobs_with_keys_rates_delays_and_retries(pool: str) -> None:
    """Also the one with a leader, and the one whose jobs are claimed by way of a gateway too."""
    drawn = itertools.islice(batches(5, "x", itertools.count(), 5.0), 200)
    jobs = [each for batch in drawn for each in batch.jobs if each.pool == pool]
    assert {each.job.kind for each in jobs} == {"quick", "slow", "blocking", "threaded", KIND_RATE[0]}
    for what in (
        [each for each in jobs if each.job.key_limit],
        [each for each in jobs if each.job.key == KEY_RATE[0]],
        [each for each in jobs if each.job.delay],
        [each for each in jobs if each.expected.outcome == "Failed"],
        [each for each in jobs if each.expected.tries and each.expected.outcome == "d"],
    ):
        assert what


def test_calls_are_with_and_without_a_key_and_some_fail() -> None:
    asked = list(itertools.islice(calls(5, "x", itertools.count()), 200))
    assert {keyed for _, _, keyed in asked} == {True, False}
    assert {planned.expected.outcome for _, planned, keyed in asked if not keyed} == {"d", "Failed"}
    assert {planned.expected.outcome for _, planned, keyed in asked if keyed} == {"d"}
