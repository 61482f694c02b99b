"""How many runners jobs want, before any rule has its say."""

import math

import pytest

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.demand import demand_of
from paceline_operator.domain.scaling.signals import Signals
from unit.scaling.cases import spec_of


def waiting(wait: int, utilization: int = 100) -> Autoscaling:
    return spec_of(targets={"waitSeconds": wait, "utilization": utilization})


def runners(signals: Signals, spec: Autoscaling | None = None, slots: int = 1) -> int:
    return demand_of(spec or spec_of(), slots, signals).runners


@pytest.mark.parametrize(
    ("ready", "running", "slots", "utilization", "wanted"),
    [(0, 0, 4, 100, 0), (1, 0, 4, 100, 1), (4, 0, 4, 100, 1), (4, 1, 4, 100, 2), (0, 8, 4, 100, 2), (4, 0, 4, 50, 2),
     (7, 0, 1, 70, 10), (5, 0, 4, 99, 2), (1_000_000, 0, 4, 100, 250_000)],
)  # fmt: skip
def test_every_job_gets_its_own_slot(ready: int, running: int, slots: int, utilization: int, wanted: int) -> None:
    assert runners(Signals(ready, running), waiting(0, utilization), slots) == wanted


def test_warm_runners_come_on_top() -> None:
    assert runners(Signals(5, 0), spec_of(minIdle=3), 4) == 5
    assert runners(Signals(0, 0), spec_of(minIdle=3), 4) == 3


@pytest.mark.parametrize(
    ("signals", "wanted"),
    [
        (Signals(100, 0, 0, 0.0, 6.0), 10),  # 600 s of work within 60 s
        (Signals(100, 0, 30, 0.0, 6.0), 20),  # half of the time is over
        (Signals(100, 0, 60, 0.0, 6.0), 100),  # and now all of it
        (Signals(100, 0, 61, 0.0, 6.0), 100),
        (Signals(100, 0, 59.999, 0.0, 6.0), 100),  # more than a slot for each job is of no use
        (Signals(100, 0, 0, 2.0, 6.0), 22),  # what comes in wants 12 slots more
        (Signals(100, 40, 0, 0.0, 6.0), 40),  # those that run have a slot already
        (Signals(100, 3, 0, 0.0, None), 103),  # nobody knows how long they take
        (Signals(100, 3, None, None, 6.0), 10),  # no rate and no age: nothing has come in lately
        (Signals(1, 0, 0, 0.0, 0.001), 1),  # at least one
        (Signals(3, 0, 0, 0.0, 0.0), 1),
        (Signals(0, 0, None, 5.0, 6.0), 0),  # no job, no runner
    ],
)
def test_jobs_that_may_wait_share_slots(signals: Signals, wanted: int) -> None:
    assert runners(signals, waiting(60)) == wanted


@pytest.mark.parametrize(
    ("ready", "idle", "said"),
    [
        (0, 0, "0 ready and 0 running want 0 slots"),
        (1, 0, "1 ready and 0 running want 1 slot"),
        (2, 1, "2 ready and 0 running want 2 slots, 1 runner beside them"),
        (1, 2, "1 ready and 0 running want 1 slot, 2 runners beside them"),
    ],
)
def test_it_is_said_in_a_sentence(ready: int, idle: int, said: str) -> None:
    assert demand_of(spec_of(minIdle=idle), 4, Signals(ready, 0)).text == said


def test_no_error_of_floats_adds_a_runner() -> None:
    rate, service, ready, wait = 24 / 60, 6.0, 30, 300
    assert rate * service + ready * service / wait == 3.0000000000000004
    assert runners(Signals(ready, 0, 0, rate, service), waiting(wait)) == 3


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0])
def test_a_value_that_cannot_have_been_measured_is_unknown(bad: float) -> None:
    assert runners(Signals(100, 3, 0, 0.0, bad), waiting(60)) == 103
    assert runners(Signals(100, 0, bad, 0.0, 6.0), waiting(60)) == 10
    assert runners(Signals(100, 0, 0, bad, 6.0), waiting(60)) == 10


def test_numbers_beyond_all_measure_want_a_slot_for_each_job_and_no_more() -> None:
    assert runners(Signals(10, 0, 60 - 1e-13, 1e308, 1e308), waiting(60)) == 10
    assert runners(Signals(-5, -7, 0, 0.0, 1.0)) == 0


def test_a_tainted_runner_counts_and_serves_only_what_tolerates_it() -> None:
    assert runners(Signals(2, 0, tainted=1)) == 3
    assert runners(Signals(2, 1, tainted=1, tainted_running=1)) == 3
    assert runners(Signals(2, 0, tainted=1, tolerating=1)) == 2
    assert runners(Signals(8, 0, tainted=2, tolerating=3), slots=4) == 4


def test_a_tainted_runner_stays_while_it_has_work_and_goes_when_nobody_wants_anything() -> None:
    assert runners(Signals(1, 0, tainted=1, tolerating=1)) == 1
    assert runners(Signals(0, 1, tainted=1, tainted_running=1)) == 1
    assert runners(Signals(0, 0, tainted=1)) == 0
    assert runners(Signals(0, 0, tainted=1), spec_of(minIdle=2)) == 3


def test_it_says_when_the_same_jobs_will_want_one_runner_more() -> None:
    demand = demand_of(waiting(60), 1, Signals(100, 0, 0, 0.0, 6.0))
    assert demand.runners == 10
    assert demand.grows_in is not None
    for later, wanted in ((demand.grows_in - 0.01, 10), (demand.grows_in + 0.01, 11)):
        assert runners(Signals(100, 0, later, 0.0, 6.0), waiting(60)) == wanted


def test_it_does_not_grow_by_time_alone_once_every_job_has_a_slot() -> None:
    assert demand_of(waiting(60), 4, Signals(4, 0, 0, 0.0, 600.0)).grows_in is None
    assert demand_of(spec_of(), 4, Signals(100, 0, 0, 0.0, 6.0)).grows_in is None
