"""The pieces of the gateway's bench that need no gateway."""

import pytest

from paceline_bench import budgets
from paceline_bench.errors import NotMeasuredError
from paceline_bench.gateway import across, crowd, enqueuing
from paceline_bench.gateway.bench import BENCH
from paceline_bench.gateway.web import SCRIPT, lua, rate
from paceline_bench.measure import Measurement, collect, derive


def test_every_figure_has_a_label_and_every_budget_and_picture_a_figure() -> None:
    named = {*enqueuing.NAMES, *across.NAMES, *crowd.NAMES, *(each.name for each in BENCH.derived)}
    assert named == set(BENCH.labels)
    assert {each.name for each in budgets.load("gateway")} <= named
    for plot in BENCH.plots:
        assert set(plot.names) <= named


def test_a_slow_gateway_or_a_heavy_one_misses_its_budgets() -> None:
    def missed(one: float, p99: float, weight: float, across: float) -> set[str]:
        found = [
            Measurement("http_empty", 1000, "requests/s"), Measurement("http_one", one, "jobs/s"),
            Measurement("http_many", 30_000, "jobs/s"), Measurement("p99_1000", p99, "ms"),
            Measurement("weight_1000", weight, "MB"), Measurement("failed_1000", 0, "requests"),
            Measurement("across_p99", across, "ms"),
        ]  # fmt: skip
        judged = budgets.judge(budgets.load("gateway"), derive(collect(found), BENCH.derived))
        return {each.budget.name for each in judged if not each.ok}

    assert missed(500, 249, 299, 49) == set()
    assert missed(499, 250, 300, 50) == {"one_to_empty", "p99_1000", "weight_1000", "across_p99"}


def test_what_wrk_says_is_a_rate_and_a_request_that_failed_is_none() -> None:
    assert rate("Running 5s test\nresult 20000 5000000 0\n") == 4000
    with pytest.raises(NotMeasuredError, match="3 of 20000 requests failed"):
        rate("result 20000 5000000 3\n")
    with pytest.raises(NotMeasuredError, match="wrk said: unable to connect"):
        rate("unable to connect\n")


def test_a_body_is_a_lua_string() -> None:
    assert 'wrk.body = "{\\"kind\\": \\"noop\\"}"' in SCRIPT % lua('{"kind": "noop"}')
