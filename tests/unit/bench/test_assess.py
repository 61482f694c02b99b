"""The pieces of the load assessment that need neither a database nor a runner."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from paceline_bench import scraped
from paceline_bench.assess.bench import DOCS, drift, write
from paceline_bench.assess.fleet import Counts, shares
from paceline_bench.assess.load import Begun
from paceline_bench.assess.look import Samples
from paceline_bench.assess.page import PAGE, render
from paceline_bench.assess.plan import FULL, QUICK, WAYS
from paceline_bench.assess.results import Results
from paceline_bench.assess.seen import Gap, Seen
from paceline_bench.assess.tables import reasons
from paceline_bench.bench import Plot
from paceline_bench.errors import BenchError
from paceline_bench.plots import Shown
from paceline_bench.report import RESULTS
from unit.bench.assessed import cell

CELLS = [
    cell(way=way, runners=runners, rate=rate, empty=1.25 if way in ("direct", "bounced") else None)
    for way in WAYS
    for runners in (10, 100)
    for rate in (100, 1_000, None)
]


def _results(cells: list[Seen] = CELLS, *, quick: bool = False, missing: list[Gap] | None = None) -> Results:
    return Results(
        date="2026-05-01T08:00:00Z", quick=quick, cells=cells, missing=missing or [], settings={"fsync": "on"},
        versions={"postgres": "18.4"}, machine={"cores": 2, "memory_gb": 8.0, "load_before": 0.1},
    )  # fmt: skip


def _draw(plot: Plot, shown: Shown, labels: Mapping[str, str], file: Path) -> None:
    file.write_text(f"{plot.title}: {', '.join(dict.fromkeys(labels[each.name] for each in shown))}")


def test_every_way_size_and_rate_is_tried_once_and_always_in_the_same_mixed_order() -> None:
    stations = list(FULL.stations())
    assert stations == list(FULL.stations())
    assert len({station[:2] for station in stations}) == len(stations) == len(WAYS) * 5
    assert all(set(rates) == {100, 1_000, 10_000, None} for _, _, rates in stations)
    assert [station[:2] for station in stations] != sorted(station[:2] for station in stations)
    assert len({rates for _, _, rates in stations}) > 3
    assert {runners for _, runners, _ in stations} == {10, 50, 100, 500, 1_000}


def test_the_whole_takes_an_hour_and_the_short_one_minutes() -> None:
    for plan, minutes in ((FULL, 55), (QUICK, 4)):
        cells = sum(plan.warm + seconds for seconds in plan.seconds.values())
        assert len(list(plan.stations())) * cells < 60 * minutes


def test_a_part_can_be_chosen_and_is_then_not_the_whole() -> None:
    part = FULL.only(["direct"], [1_000], ["flat", "100"])
    assert [(way, runners, set(rates)) for way, runners, rates in part.stations()] == [("direct", 1_000, {None, 100})]
    assert (FULL.whole, FULL.only([], [], []).whole, part.whole, QUICK.whole) == (True, True, False, False)


@pytest.mark.parametrize(
    ("ways", "runners", "rates", "said"),
    [
        (
            ["carrier-pigeon"],
            [],
            [],
            "way carrier-pigeon is not assessed (there are: bounced, direct, gateway, gateways)",
        ),
        ([], [7], [], "runners 7 is not assessed (there are: 10, 50, 100, 500, 1000)"),
        ([], [], ["5"], "rate 5 is not assessed (there are: 100, 1000, 10000, flat)"),
    ],
)
def test_what_is_not_there_cannot_be_chosen(ways: list[str], runners: list[int], rates: list[str], said: str) -> None:
    with pytest.raises(BenchError, match=re.escape(said)):
        FULL.only(ways, runners, rates)


def test_a_burst_at_either_end_is_no_growth() -> None:
    assert Samples([0, 90, 0, 0, 0, 0, 0, 0, 0, 80], [1]).ends == (90, 0)
    assert Samples([0, 5, 20, 40, 60, 80, 100, 120, 140, 160], [1]).ends == (5, 140)
    assert Samples([], []).ends == (0, 0)


def test_counters_are_summed_over_their_series() -> None:
    text = '# HELP x y\nasked_total{code="200"} 5.0\nasked_total{code="503",to="a"} 2.0\nasked_total_more 9\nplain 4\n'
    assert scraped.total(text, "asked_total") == 7
    assert scraped.total(text, "asked_total", {"code": "[45].."}) == 2
    assert scraped.total(text, "plain") == 4
    assert scraped.total(text, "gone") == 0
    assert Counts(9, 5, 1, 1).since(Counts(4, 4)) == Counts(5, 1, 1, 1)


def test_a_job_that_nobody_found_the_time_to_begin_has_come_all_the_same() -> None:
    begun = Begun(jobs=7, next=100.0, pace=10.0)
    assert [begun.due(now) for now in (99.9, 100.0, 100.25, 101.0)] == [7, 8, 10, 18]
    assert Begun(jobs=7).due(10**9) == 7, "flat out nothing is due"


def test_claims_that_failed_are_told_with_the_reason() -> None:
    text = 'x_total{reason="refused"} 2.0\nx_total{reason="database"} 0.0\nx_total{gate="a",reason="refused"} 3.0\n'
    assert scraped.by(text, "x_total", "reason") == {"refused": 5, "database": 0}
    assert (reasons({"refused": 2, "database": 0, "late": 1}), reasons({})) == ("3 (late 1, refused 2)", "0")
    assert "| one gateway | 1,000 | 3 (refused 3) | 0 |" in render(_results([cell(failed={"refused": 3})]))


def test_jobs_that_wait_to_be_written_and_to_be_claimed_are_told_apart() -> None:
    page = render(_results([cell(due=1_200), cell(rate=1_000, backlog_last=90)]))
    assert "jobs come faster than they can be written | in 1 of 2 cells |" in page
    assert "more and more jobs wait to be claimed | in 1 of 2 cells |" in page


def test_many_runners_share_processes() -> None:
    assert shares(100) == [(0, 100)]
    assert shares(600) == [(0, 250), (250, 250), (500, 100)]


def test_results_are_read_as_they_were_written_and_a_page_that_differs_is_named(tmp_path: Path) -> None:
    file = write(_results(list(reversed(CELLS))), tmp_path, tmp_path, _draw)
    assert Results.read(file) == _results(), "in an order to look things up in"
    assert drift(tmp_path, tmp_path) == []
    assert (tmp_path / "assess-claim-100.svg").read_text() == (
        "95 of 100 claims took at most, 100/min: direct, PgBouncer, one gateway, two gateways"
    )
    assert (tmp_path / "assess-coordinator.svg").read_text().endswith("PgBouncer, one gateway, two gateways")
    told = json.loads(file.read_text())
    told["cells"][0]["claim_p95"] = 31.0
    file.write_text(json.dumps(told))
    lines = drift(tmp_path, tmp_path)
    assert [Path(line.partition(":")[0]).name for line in lines] == [PAGE, "assess.md"]
    assert all("should have" in line and "assess-page" in line for line in lines)


def test_pictures_of_an_older_run_go(tmp_path: Path) -> None:
    (tmp_path / "assess-claim-7.svg").write_text("old")
    write(_results([cell()]), tmp_path, tmp_path, _draw)
    assert not (tmp_path / "assess-claim-7.svg").exists()


def test_the_page_answers_each_metric_and_each_trigger_and_marks_a_full_machine() -> None:
    page = render(_results([*CELLS[:-1], cell(way="gateways", runners=100, rate=None, machine_cpu=97.0, done=321.0)]))
    for title in (
        "1. Coordinator CPU under runner load", "2. Database write latency during peak", "3. Run claim latency",
        "4. Failed run claims", "claims take more than 5 s consistently", "the database's write queue backs up",
        "the coordinator must be scaled out",
    ):  # fmt: skip
        assert title in page
    assert "| 100 (shared) | 50 | 50 | 50 | 321 * |" in page
    assert "| 10 | 4 ms / 9 ms / 20 ms | 4 ms / 9 ms / 20 ms |" in page
    assert "never, in 16 cells" in page
    assert "one gateway did 50 jobs/s, two did 321" in page
    assert "shortened" not in page


def test_the_page_says_that_a_run_was_short_and_what_is_missing() -> None:
    page = render(_results(quick=True, missing=[Gap("direct", 10, None, "it was late")]))
    assert "**From a shortened run: a first impression, not a result.**" in page
    assert "- direct, 10 runners, flat out: it was late" in page


def test_the_page_does_not_call_good_what_could_not_be_measured() -> None:
    page = render(_results([cell()], missing=[Gap("gateway", 10, 1_000, "it was late")]))
    assert "**Not decided with 10 runners**: no message queue is needed up to 100/min." in page


def test_the_page_says_that_others_kept_the_machine_busy() -> None:
    busy = replace(_results(), machine={"cores": 2, "memory_gb": 8.0, "load_before": 2.1})
    assert "Others kept it busy (load 2.1 before the run)" in render(busy)
    assert "Others kept it busy" not in render(_results())


def test_a_run_with_one_cell_has_a_page_too() -> None:
    assert "| 10 | no | 100/min | one gateway: p95 9 ms | nothing that was tried |" in render(_results([cell()]))
    assert "Nothing was decided" in render(_results([cell(rate=None)]))


def test_the_page_that_is_kept_is_what_the_kept_results_give_and_its_links_lead_somewhere() -> None:
    assert drift(RESULTS, DOCS) == []
    page = (DOCS / PAGE).read_text()
    links = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", page)
    assert len(links) > 10
    for link, place in links:
        target = DOCS / link
        assert target.exists(), link
        titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE) if place else []
        anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not place or place in anchors, (link, place)
