"""The decision of the load assessment: values in, value out."""

import pytest

from paceline_bench.assess.answer import again, answer
from paceline_bench.assess.decide import Verdict, backs_up, decide, judge
from paceline_bench.assess.seen import Seen
from unit.bench.assessed import cell

SLOW = {"claim_p95": 5_001.0}


@pytest.mark.parametrize(
    ("first", "last", "jobs", "grows"),
    [(0, 10, 100, False), (0, 11, 100, True), (0, 50, 1_000, False), (0, 51, 1_000, True), (80, 20, 100, False)],
)
def test_a_backlog_grows_when_it_takes_more_than_a_few_and_a_share_of_what_comes(
    first: int, last: int, jobs: int, grows: bool
) -> None:
    assert backs_up(cell(backlog_first=first, backlog_last=last, jobs=jobs)) is grows
    assert not backs_up(cell(backlog_first=first, backlog_last=last, jobs=jobs, rate=None))


def test_jobs_that_could_not_even_be_written_wait_too() -> None:
    assert backs_up(cell(due=1_000, jobs=949))
    assert not backs_up(cell(due=1_000, jobs=951))


@pytest.mark.parametrize(
    ("seen", "saturation", "verdict"),
    [
        (cell(claim_p95=5_000.0), 1_000.0, Verdict.KEPT),
        (cell(**SLOW), 1_000.0, Verdict.SLOW),
        (cell(**SLOW), None, Verdict.SLOW),
        (cell(backlog_last=900), 1_000.0, Verdict.BACKLOG),
        (cell(**SLOW), 100.0, Verdict.BEYOND),
        (cell(backlog_last=900), 99.0, Verdict.BEYOND),
        (cell(machine_cpu=90.0, **SLOW), 1_000.0, Verdict.BEYOND),
        (cell(machine_cpu=89.9, **SLOW), 1_000.0, Verdict.SLOW),
        (cell(machine_cpu=100.0), 1_000.0, Verdict.KEPT),
    ],
)
def test_a_cell_is_judged_below_what_its_way_and_its_machine_can_do_at_all(
    seen: Seen, saturation: float | None, verdict: Verdict
) -> None:
    assert judge(seen, saturation) is verdict


def test_where_some_way_keeps_up_nothing_else_is_needed_and_the_quickest_is_named() -> None:
    cells = [
        cell(way=way, rate=rate, claim_p95=p95)
        for way, p95 in (("direct", 30.0), ("gateway", 20.0), ("bounced", 6_000.0))
        for rate in (100, 1_000)
    ]
    decision = decide(cells)
    (size,) = decision.sizes
    assert (size.runners, size.rate, size.way, size.p95, size.limit) == (10, 1_000, "gateway", 20.0, Verdict.KEPT)
    assert not size.queue
    assert decision.needed_from is None
    assert decision.first["gateway"] is None
    assert decision.first["bounced"] is cells[4], "at the lowest rate"
    assert "**No message queue, from 10 to 10 runners**" in answer(decision)[0]


def test_a_queue_is_considered_from_the_first_size_at_which_no_way_keeps_up() -> None:
    cells = [cell(runners=runners, rate=rate) for runners in (50, 10) for rate in (1_000, 100)]
    cells += [cell(runners=100, rate=100), cell(runners=100, rate=1_000, backlog_first=3, backlog_last=400)]
    cells += [cell(runners=runners, rate=None, done=100.0) for runners in (10, 50, 100)]
    decision = decide(cells)
    assert [each.queue for each in decision.sizes] == [False, False, True]
    assert (decision.sizes[2].rate, decision.sizes[2].limit) == (100, Verdict.BACKLOG)
    assert decision.needed_from == 100
    assert answer(decision)[0].startswith("**No message queue up to 50 runners.** **Consider one from 100 runners on**")
    assert "- one gateway: first with 100 runners at 1,000/min: the backlog grew by 397 of 1,000 jobs" in again(
        decision
    )


def test_a_rate_that_the_machine_cannot_do_at_all_decides_nothing() -> None:
    cells = [cell(rate=100), cell(rate=10_000, **SLOW), cell(rate=None, done=20.0)]
    decision = decide(cells)
    (size,) = decision.sizes
    assert (size.rate, size.limit, size.queue) == (100, Verdict.BEYOND, False)
    assert decision.first == {"gateway": cells[1]}
    assert decision.saturation == {("gateway", 10): 1_200.0}
    told = answer(decision)
    assert told[0].startswith("**Not decided for every rate**")
    assert "(10 runners up to 100/min)" in told[0]
    assert "| 10 | not decided above | 100/min | one gateway: p95 9 ms | more than this machine could do |" in told


def test_headroom_ends_at_the_first_rate_that_is_not_soon_enough() -> None:
    cells = [
        cell(rate=100),
        cell(rate=1_000, claim_p95=1_000.0),
        cell(rate=10_000),
        cell(way="direct", rate=100, **SLOW),
    ]
    decision = decide(cells)
    assert decision.headroom == {("gateway", 10): 100, ("direct", 10): None}
    assert "| 10 | none | 100/min |" in again(decision)


def test_without_a_rate_there_is_no_decision() -> None:
    assert answer(decide([cell(rate=None)])) == ["**Nothing was decided**: no rate was measured."]
