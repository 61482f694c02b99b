"""The page of all results: what stands in it is what was measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline_bench import marked
from paceline_bench.compared.results import Kept, read, spread
from paceline_bench.compared.tables import PAGE, keda, orch8, peers, queues, results, tables
from paceline_bench.errors import BenchError
from paceline_bench.report import RESULTS

HTML = "before\n<!-- table: one -->\nold\nolder\n<!-- end -->\nbetween\n<!-- table: two -->\n<!-- end -->\nafter\n"


def figure(name: str, *values: float, unit: str = "jobs/s") -> dict[str, Any]:
    ordered = sorted(values)
    return {
        "name": name, "unit": unit, "median": ordered[len(ordered) // 2], "min": ordered[0], "max": ordered[-1],
        "repetitions": list(values),
    }  # fmt: skip


def kept(name: str, /, *figures: dict[str, Any], quick: bool = False, load: float = 0.4, **budget: object) -> Kept:
    judged = [{"name": figures[0]["name"], "op": "<", "limit": 2.0, "ok": True, "design": "design 10: it", **budget}]
    told = {"date": "2026-11-18T09:00:00Z", "quick": quick, "figures": figures, "budgets": judged}
    return Kept(name, {**told, "machine": {"load_before": load}})


def test_tables_stand_between_their_marks_and_nothing_else_changes() -> None:
    wanted = {"one": ["| a |"], "two": ["| b |", "| c |"]}
    found = marked.written("page.md", HTML, wanted)
    assert found == (
        "before\n<!-- table: one -->\n| a |\n<!-- end -->\nbetween\n"
        "<!-- table: two -->\n| b |\n| c |\n<!-- end -->\nafter\n"
    )
    assert marked.written("page.md", found, wanted) == found


@pytest.mark.parametrize(
    "text",
    [
        "<!-- table: one -->\nwithout an end\n",
        "<!-- table: two -->\n<!-- end -->\n",
        "<!-- table: one -->\n<!-- end -->\n<!-- table: one -->\n<!-- end -->\n",
    ],
)
def test_a_page_without_one_place_for_a_table_is_no_page(text: str) -> None:
    with pytest.raises(BenchError, match=r"docs/page\.md needs one <!-- table: one -->"):
        marked.written("page.md", text, {"one": []})


def test_a_page_that_differs_is_told_and_one_that_was_written_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(HTML)
    wanted = {"one": ["| a |"], "two": ["| b |"]}
    assert marked.drift(page, wanted) == ["docs/page.md differs from the results (run make crds)"]
    marked.write(page, wanted)
    assert marked.drift(page, wanted) == []


def test_a_figure_that_was_taken_once_has_no_spread() -> None:
    assert spread(figure("a", 4094.0)) == "4,094 jobs/s"
    assert spread(figure("a", 3875.0, 4094.0, 5378.0)) == "4,094 jobs/s (3,875 to 5,378)"


def test_every_budget_is_shown_with_what_was_found_and_a_missed_one_stands_out() -> None:
    good, missed = kept("queue", figure("a", 1.5, unit="x")), kept("gateway", figure("b", 3.0, unit="x"), ok=False)
    short = kept("soak", figure("c", 0.0), quick=True, load=34.0)
    none = kept("e2e", figure("d", 1.0), name="e", ok=False)
    rows = results({"queue": good, "gateway": missed, "soak": short, "e2e": none})[2:]
    assert rows == [
        "| [queue](../bench/results/queue.md), 2026-11-18 | 0.4 | it | 1.5 x | < 2 | yes |",
        "| [gateway](../bench/results/gateway.md), 2026-11-18 | 0.4 | it | 3 x | < 2 | **no** |",
        "| [soak](../bench/results/soak.md), 2026-11-18, shortened | 34 | it | 0 jobs/s | < 2 | yes |",
        "| [e2e](../bench/results/e2e.md), 2026-11-18 | 0.4 | it | not measured | < 2 | **no** |",
    ]


def test_a_figure_that_a_table_needs_and_nobody_took_is_named() -> None:
    with pytest.raises(BenchError, match=r"queue\.json has no runner_1_1p: run make bench-queue"):
        orch8({"queue": kept("queue", figure("a", 1.0))})


def test_a_peer_has_its_rows_also_where_nothing_of_ours_was_measured() -> None:
    there = read(RESULTS)
    rows = orch8(there)
    (killed,) = [row for row in rows if "a node of the engine is killed" in row]
    assert killed.startswith("| a node of the engine is killed: its instances go on |  | 332 to 439 s")
    assert not any(there["failover"].cell("kill_to_act") in row for row in rows), "who acts is no worker's job"
    assert "| 400 jobs at zero to the first 100 pods created |  | 91 s | 13 s | 4.4 s |" in keda(there)


def test_a_peer_without_batches_stands_with_what_it_has_and_an_empty_cell_where_it_has_nothing() -> None:
    found = queues(kept("queue", figure("runner_50_1p", 9.0), figure("procrastinate_1p", 1.0), figure("wal_saq", 3.0)))
    assert found[2] == "| no-op jobs, batch 50, one process | 9 jobs/s |  | 1 jobs/s |  |  |"
    assert found[-1].endswith("|  |  |  |  | 3 jobs/s |")


def test_the_committed_results_fill_every_table(tmp_path: Path) -> None:
    there = read(RESULTS)
    assert {"runner", "queue", "operator", "failover", "autoscale", "rollout", "gateway"} <= set(there)
    assert peers(there)[2].startswith("| PgQueuer | 1.")
    marked.written(PAGE.name, PAGE.read_text(), tables(there))
    (tmp_path / "queue.json").write_text(json.dumps(there["queue"].told))
    assert list(read(tmp_path)) == ["queue"]
