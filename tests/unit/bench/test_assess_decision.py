"""The decision of the load assessment: values in, value out."""

import pytest

from paceline_bench.assess.answer import again, answer
from paceline_bench.assess.decide import Verdict, backs_up, decide, judge
from paceline_bench.assess.seen import Gap, Seen
from unit.bench.assessed import cell

SLOW = {"claim_p95": 5_001.0}
GAP = Gap("gateway", 10, 1_000, "it was late")


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
    ("seen", "more", "verdict"),
    [
        (cell(claim_p95=5_000.0), False, Verdict.KEPT),
        (cell(**SLOW), False, Verdict.SLOW),
        (cell(backlog_last=900), False, Verdict.BACKLOG),
        (cell(**SLOW), True, Verdict.FEW),
        (cell(machine_cpu=90.0, **SLOW), False, Verdict.BEYOND),
        (cell(machine_cpu=90.0, **SLOW), True, Verdict.BEYOND),
        (cell(machine_cpu=89.9, **SLOW), False, Verdict.SLOW),
        (cell(machine_cpu=100.0), False, Verdict.KEPT),
        (GAP, True, Verdict.UNKNOWN),
    ],
)
def test_processors_and_runners_that_were_missing_are_no_reason_for_a_queue(
    seen: Seen | Gap, more: bool, verdict: Verdict
) -> None:
    assert judge(seen, more) is verdict


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
    assert decision.first["gateway"] is None
    assert decision.first["bounced"] is cells[4], "at the lowest rate"
    assert answer(decision)[0].startswith("**No message queue with 10 runners**")


def test_a_queue_is_considered_where_no_way_keeps_up_though_processors_were_left() -> None:
    cells = [cell(runners=runners, rate=rate) for runners in (50, 10) for rate in (1_000, 100)]
    cells += [cell(runners=100, rate=100), cell(runners=100, rate=1_000, backlog_first=3, backlog_last=400)]
    cells += [cell(runners=runners, rate=None, done=10.0) for runners in (10, 50, 100)]
    decision = decide(cells)
    assert [each.queue for each in decision.sizes] == [False, False, True]
    assert (decision.sizes[2].rate, decision.sizes[2].limit) == (100, Verdict.BACKLOG)
    assert decision.saturation["gateway", 10] == 600
    told = answer(decision)[0]
    assert told.startswith("**No message queue with 10 and 50 runners**")
    assert "**Consider one with 100 runners**: above 100/min no way kept up, though processors were left." in told
    assert "- one gateway: first with 100 runners at 1,000/min: of 1,000 jobs 397 more waited to be claimed" in again(
        decision
    )


def test_few_runners_that_cannot_do_a_rate_call_for_more_of_them() -> None:
    cells = [cell(rate=100), cell(rate=1_000, **SLOW), cell(runners=50, rate=100), cell(runners=50, rate=1_000)]
    decision = decide(cells)
    assert [(each.limit, each.rate, each.fine) for each in decision.sizes] == [
        (Verdict.FEW, 100, True), (Verdict.KEPT, 1_000, True),
    ]  # fmt: skip
    told = answer(decision)
    assert told[0].startswith("**No message queue with 10 and 50 runners**")
    assert "| 10 | no: more runners | 100/min | one gateway: p95 9 ms | more than so few runners can do |" in told


def test_a_full_machine_decides_nothing() -> None:
    cells = [cell(rate=100), cell(rate=10_000, machine_cpu=99.0, **SLOW)]
    decision = decide(cells)
    (size,) = decision.sizes
    assert (size.rate, size.limit, size.queue, size.fine) == (100, Verdict.BEYOND, False, False)
    assert decision.first == {"gateway": cells[1]}
    told = answer(decision)
    assert told[0].startswith("**Not decided with 10 runners**: no message queue is needed up to 100/min.")
    assert "| 10 | not decided above | 100/min | one gateway: p95 9 ms | more than this machine could do |" in told


def test_what_could_not_be_measured_is_never_good() -> None:
    decision = decide([cell(rate=100)], [GAP])
    (size,) = decision.sizes
    assert (size.limit, size.rate, size.fine, size.queue) == (Verdict.UNKNOWN, 100, False, False)
    assert decision.headroom == {("gateway", 10): 100}
    assert "- one gateway: first with 10 runners at 1,000/min: could not be measured" in again(decision)
    assert answer(decision)[0].startswith("**Not decided with 10 runners**: no message queue is needed up to 100/min.")


def test_a_way_that_keeps_up_makes_good_for_one_that_was_not_measured() -> None:
    (size,) = decide([cell(rate=100), cell(way="direct", rate=1_000), cell(way="direct", rate=100)], [GAP]).sizes
    assert (size.limit, size.way) == (Verdict.KEPT, "direct")


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
