"""The page `docs/load-assessment.md`, from the results of a run and nothing else."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from paceline_bench.assess.answer import again, answer
from paceline_bench.assess.decide import FEW, GROWTH, SLOW, decide, grows, unwritten
from paceline_bench.assess.load import DEPTH
from paceline_bench.assess.plan import REAL
from paceline_bench.assess.results import Results
from paceline_bench.assess.sections import costs, metrics
from paceline_bench.assess.seen import FULL, Seen
from paceline_bench.assess.tables import ms, row, table
from paceline_bench.assess.words import words
from paceline_bench.measure import number

PAGE: Final = "load-assessment.md"
SHORT: Final = "\n**From a shortened run: a first impression, not a result.**"


def render(results: Results) -> str:
    """The whole page."""
    cells, decision = results.cells, decide(results.cells, results.missing)
    parts = [
        [words("head"), *([SHORT] if results.quick else [])],
        [f"Measured {results.date[:10]} (UTC), {_machine(results)}."],
        ["## The answer", "", *answer(decision)],
        ["## When to look again", "", *again(decision), *_triggers(cells)],
        [words("method", real=REAL, full=FULL, depth=DEPTH, slow=ms(SLOW), few=FEW, growth=100 * GROWTH)],
        ["## The four metrics", "", *metrics(cells)],
        ["## What else it costs", "", *costs(cells)],
        [words("there")],
        _missing(results),
        ["## Conditions", "", *_conditions(results)],
    ]
    text = "\n\n".join("\n".join(lines).strip() for lines in parts if lines)
    return re.sub(r"\n{3,}", "\n\n", text) + "\n"


def _missing(results: Results) -> list[str]:
    lines = [f"- {each.name}: {each.reason}" for each in results.missing]
    return ["## Not measured", "", *lines] if lines else []


def _conditions(results: Results) -> Iterator[str]:
    for title, facts in (("machine", results.machine), ("versions", results.versions), ("settings", results.settings)):
        yield f"- {title}: {', '.join(f'{name} {value}' for name, value in facts.items())}"
    yield "- every number of every cell: [assess.md](../bench/results/assess.md)"


def _machine(results: Results) -> str:
    cores, memory = results.machine["cores"], results.machine["memory_gb"]
    load = float(str(results.machine["load_before"]))
    busy = f". Others kept it busy (load {load:g} before the run): no time here is Paceline's alone"
    shared = f"on {cores} cores and {memory} GB that database, gateways, runners and producers share"
    return f"{shared}{busy if load > float(str(cores)) else ''}"


def _triggers(cells: Sequence[Seen]) -> Iterator[str]:
    """Those that the question named, one by one."""
    paced = [each for each in cells if each.rate is not None]
    slow = [each for each in paced if each.claim_p95 > SLOW]
    unwritten_ones = [each for each in paced if grows(each, unwritten(each))]
    waiting = [each for each in paced if grows(each, each.backlog_last - each.backlog_first)]
    yield "The triggers that the question named:"
    yield ""
    yield from table(["trigger", "in this run", "who tells you"])
    yield row([
        f"claims take more than {ms(SLOW)} consistently", _of(slow, paced),
        "the alerts [PacelineGatewayClaimLatency](runbooks/PacelineGatewayClaimLatency.md) and "
        "[PacelineClaimLatency](runbooks/PacelineClaimLatency.md)",
    ])  # fmt: skip
    yield row([
        "the database's write queue backs up: jobs come faster than they can be written", _of(unwritten_ones, paced),
        "`paceline_db_write_seconds`",
    ])  # fmt: skip
    yield row([
        "the same behind it: more and more jobs wait to be claimed", _of(waiting, paced),
        "[PacelineQueueLag](runbooks/PacelineQueueLag.md)",
    ])  # fmt: skip
    yield row([
        "the coordinator must be scaled out", _scaled(cells),
        "`process_cpu_seconds_total` of the [gateways](reference/gateway.md#metrics): a replica more, and nothing else",
    ])  # fmt: skip


def _of(some: Sequence[Seen], every: Sequence[Seen]) -> str:
    return f"in {len(some)} of {len(every)} cells" if some else f"never, in {len(every)} cells"


def _scaled(cells: Sequence[Seen]) -> str:
    """What a second gateway brings, where both were tried with the queue full."""
    flat = {(each.way, each.runners): each.done for each in cells if each.rate is None}
    both = [runners for way, runners in flat if way == "gateway" and ("gateways", runners) in flat]
    if not both:
        return "not measured"
    most = max(both)
    return (
        f"flat out with {most:,} runners one gateway did {number(flat['gateway', most])} jobs/s, two did "
        f"{number(flat['gateways', most])}"
    )
