"""Figures that people wrote into sentences are those of the committed results."""

import json
import re
from collections.abc import Callable
from functools import cache

import pytest

from paceline_dev import REPOSITORY
from unit.docs.pages import text_of

SIZING, OPERATE, README = "docs/explanation/sizing.md", "docs/how-to/operate.md", "README.md"
Format = Callable[[float], str]


@cache
def figures(bench: str) -> dict[str, float]:
    """The medians of a bench by their names."""
    result = json.loads((REPOSITORY / "bench" / "results" / f"{bench}.json").read_text())
    return {each["name"]: each["median"] for each in result["figures"]}


def two(value: float) -> str:
    """By two digits that count: 35,726 is about 36,000."""
    return f"{float(f'{value:.2g}'):,.0f}"


def places(number: int, factor: float = 1) -> Format:
    """With so many decimals."""
    return lambda value: f"{value * factor:,.{number}f}"


whole = places(0)
CLAIMS: list[tuple[str, str, str, str, Format]] = [
    (SIZING, "about {} jobs a second through one runner", "queue", "runner_50_1p", two),
    (SIZING, "one by one about {} |", "queue", "runner_1_1p", two),
    (SIZING, "tags and tolerations: {} times as long as one |", "queue", "claim_500_lanes_ratio", places(1)),
    (SIZING, "claims keep {} of their rate", "queue", "held_to_free", places(2)),
    (SIZING, "| 1,000 idle runners | {} statements a second |", "runner", "idle_queries", two),
    (SIZING, "{} MB and", "operator", "rss_1000", whole),
    (SIZING, "MB and {} % of a core with 1,000 runners in 50 groups", "operator", "cpu_idle_1000", whole),
    (SIZING, "takes about {} jobs a second one by one", "gateway", "http_one", two),
    (SIZING, "or {} in requests of 1,000", "gateway", "http_many", two),
    (SIZING, "runners that poll with {} MB of memory", "gateway", "weight_1000", whole),
    (OPERATE, "about {} jobs/s through a runner", "queue", "runner_50_1p", two),
    (OPERATE, "about {} jobs/s on one connection", "queue", "runner_1_1p", two),
    (OPERATE, "about {} jobs/s one by one", "gateway", "http_one", two),
    (OPERATE, "one by one, {} in requests of 1,000", "gateway", "http_many", two),
    (OPERATE, "| runner, idle | {} MB", "runner", "idle_rss", whole),
    (OPERATE, "MB, {} statements a second |", "runner", "idle_queries", places(2, 1 / 1000)),
    (OPERATE, "| operator, 1,000 runners in 50 groups | {} MB", "operator", "rss_1000", whole),
    (OPERATE, "MB, {} % of a core, one statement a second", "operator", "cpu_idle_1000", whole),
    (OPERATE, "| gateway, 1,000 runners that poll | {} MB", "gateway", "weight_1000", whole),
    (OPERATE, "MB, {} % of a core at 200 jobs/s", "gateway", "cpu_1000", whole),
    (README, "none killed in {} (", "autoscale", "cycles", whole),
    (README, "p99 {} s ([measured]", "autoscale", "enqueue_to_pod_p99", places(2)),
    (README, "| 400 jobs at zero → 400 pods | {} s (", "autoscale", "jobs_400_to_pods", places(1)),
    (README, "| {} attempts interrupted ([measured]", "rollout", "interrupted_group", whole),
    (README, "| {} attempts interrupted with Kubernetes' 30 s", "rollout", "interrupted_deployment_30s", whole),
    (README, "30 s of grace, {} with our preStop hook", "rollout", "interrupted_deployment", whole),
    (README, "| database connections for 200 groups | {} (", "autoscale", "connections_200_groups", whole),
    (README, "a single enqueue by the SDK: {} a second", "queue", "enqueue_one_paceline", whole),
    (README, "a second; PgQueuer {}", "queue", "enqueue_one_pgqueuer", whole),
    (README, "start on an idle runner, p99: {} ms", "queue", "start_paceline_p99", places(2)),
    (README, "ms; PgQueuer {},", "queue", "start_pgqueuer_p99", places(2)),
    (README, ", procrastinate {},", "queue", "start_procrastinate_p99", places(2)),
    (README, ", Chancy {}", "queue", "start_chancy_p99", places(2)),
    (README, "with a million ready: {} ms", "queue", "claim_1m_ready", places(2)),
    (README, "procrastinate (of one) {}", "queue", "claim_1m_ready_procrastinate", places(2)),
    (README, "an update of 50 busy runners: {} x", "rollout", "seconds_to_deployment", places(1)),
    (README, "at rest, 200 groups: {} % of a core", "autoscale", "cpu_idle_200_groups", whole),
    (README, "takes {} ms for a pool of a million jobs", "queue", "depth_1m", places(2)),
    (README, "and {} ms for 200 pools", "queue", "depth_200_pools", places(1)),
    (README, "| no-op jobs through one runner | {} to", "queue", "runner_to_pgqueuer_50", places(1)),
    (README, "to {} x PgQueuer", "queue", "runner_to_pgqueuer_200", places(1)),
    (README, "x PgQueuer, {} x procrastinate", "queue", "runner_to_procrastinate_50", whole),
    (README, "or a million due tomorrow | {} x and", "queue", "claim_1m_ready_ratio", places(2)),
    (README, "x and {} x of one with a thousand", "queue", "claim_1m_future_ratio", places(2)),
    (README, "its jobs can be claimed again, p99 | {} s", "operator", "death_p99", places(2, 1 / 1000)),
    (README, "longest of ten | {} s", "failover", "kill_to_act_max", places(1)),
    (README, "1,000 runners in 50 groups | {} MB", "operator", "rss_1000", whole),
    (README, "MB, {} connections, less than one query", "operator", "connections_1000", whole),
]
"""Page, sentence, bench, figure, and how it is rounded. Of what stands in the results alone; KEDA's are in none."""


def stale(text: str, sentence: str, value: str) -> str:
    """What the page says instead; nothing if it says it."""
    before, after = (re.escape(part) for part in sentence.split("{}"))
    said = re.findall(rf"{before}([\d.,]*\d){after}", " ".join(text.split()))
    if not said:
        return f'the page has no "{sentence}" any more'
    return "" if set(said) == {value} else f'"{sentence}" says {", ".join(said)}, and was measured to be {value}'


@pytest.mark.parametrize(("page", "sentence", "bench", "figure", "shown"), CLAIMS)
def test_a_figure_in_a_sentence_is_the_one_that_was_measured(
    page: str, sentence: str, bench: str, figure: str, shown: Format
) -> None:
    assert stale(text_of(page), sentence, shown(figures(bench)[figure])) == ""


def test_the_budgets_that_the_readme_calls_missed_are_those_that_are() -> None:
    result = json.loads((REPOSITORY / "bench" / "results" / "queue.json").read_text())
    missed = {(each["name"], each["limit"]) for each in result["budgets"] if not each["ok"]}
    text = " ".join(text_of(README).split())
    said = re.search(r"Two budgets of .* are missed\. .* \(limit (\d+)\) .* 200 pools \(limit (\d+)\)", text)
    assert missed == ({("depth_1m", int(said[1])), ("depth_200_pools", int(said[2]))} if said else set())


@pytest.mark.parametrize("text", ["holds 43,000\njobs", "holds 58,000 or\njobs", "holds 58,285 jobs"])
def test_a_stale_figure_is_found_and_one_that_is_not_there(text: str) -> None:
    assert stale("it holds 58,000\njobs", "holds {} jobs", two(58_285.2)) == ""
    assert stale(text, "holds {} jobs", two(58_285.2))
