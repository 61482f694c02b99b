"""The sections of the page with what was measured: the four metrics of the question, and what else it costs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from paceline_bench.assess.pictures import pictures
from paceline_bench.assess.plan import WAYS, Way, gated, real, told
from paceline_bench.assess.seen import Seen
from paceline_bench.assess.tables import NOTHING, by_size, ms, optional, reasons, row, table
from paceline_bench.assess.words import words
from paceline_bench.measure import number

IMAGES: Final = "../bench/results"


def metrics(cells: Sequence[Seen]) -> Iterator[str]:
    """One after the other, at the highest rate; claims at each."""
    shown = {each.what: each for each in pictures(cells)}
    rates = sorted({each.rate for each in cells if each.rate is not None})
    peak = rates[-1] if rates else None
    yield f"### 1. Coordinator CPU under runner load ({told(peak)})"
    yield ""
    yield (
        "The coordinator (both gateways together, or PgBouncer) / PostgreSQL / runners, in per cent of a core; "
        "everything on the machine, in per cent of all cores:"
    )
    yield ""
    yield from by_size(cells, peak, _used)
    yield from _pictures([shown[what].file for what in ("coordinator_cpu", "postgres_cpu") if what in shown], cells)
    yield f"### 2. Database write latency during peak ({told(peak)})"
    yield ""
    yield "A small write with its commit, p50 / p99; what it took on average to make the log durable:"
    yield ""
    yield from by_size(cells, peak, lambda each: f"{ms(each.write_p50)} / {ms(each.write_p99)}; {ms(each.sync)}")
    yield from _pictures([shown["write_p99"].file] if "write_p99" in shown else [], cells)
    yield "### 3. Run claim latency, from creation to pick-up"
    yield ""
    for rate in rates:
        yield f"{told(rate)}, p50 / p95 / p99:"
        yield ""
        yield from by_size(cells, rate, _claims)
        yield from _pictures([f"claim-{rate}"], cells)
    yield "### 4. Failed run claims"
    yield ""
    yield from _failed(cells)
    yield ""


def _used(cell: Seen) -> str:
    parts = optional(cell.coordinator_cpu), number(cell.postgres_cpu), number(cell.runners_cpu)
    return f"{' / '.join(parts)}; {number(cell.machine_cpu)}"


def _claims(cell: Seen) -> str:
    left = f" ({cell.unclaimed:,} not claimed)" if cell.unclaimed else ""
    return f"{ms(cell.claim_p50)} / {ms(cell.claim_p95)} / {ms(cell.claim_p99)}{left}"


def _failed(cells: Sequence[Seen]) -> Iterator[str]:
    """By way, over all cells."""
    yield from table(["way", "jobs", "claims that came to nothing", "requests answered with an error"])
    for way, name in WAYS.items():
        own = [each for each in cells if each.way == way]
        if own:
            errors = number(sum(each.errors or 0 for each in own)) if gated(way) else NOTHING
            failed = reasons(sum((Counter(each.failed) for each in own), Counter[str]()))
            yield row([name, number(sum(each.jobs for each in own)), failed, errors])
    yield ""
    yield words("in-vain")
    yield ""
    direct = [each for each in cells if not gated(each.way)]
    rates = sorted({each.rate for each in direct if each.rate is not None})
    yield from table(["runners", *(f"{WAYS[way]}, {told(rate)}" for way in _ways(direct) for rate in rates)])
    here = {(each.way, each.runners, each.rate): each for each in direct}
    for runners in sorted({each.runners for each in direct}):
        found = [here.get((way, runners, rate)) for way in _ways(direct) for rate in rates]
        yield row([f"{runners:,}", *(optional(each.empty) if each else "" for each in found)])


def _ways(cells: Sequence[Seen]) -> list[Way]:
    return [way for way in WAYS if any(each.way == way for each in cells)]


def costs(cells: Sequence[Seen]) -> Iterator[str]:
    """Connections, log, and how much is done when there is always more."""
    rates = sorted({each.rate for each in cells if each.rate is not None})
    peak = rates[-1] if rates else None
    yield f"Connections to the server, the most at once{_each(cells)}:"
    yield ""
    yield from by_size(cells, peak, lambda each: f"{each.connections:,}")
    yield ""
    yield f"Write-ahead log per job in bytes, {told(peak)} / flat out:"
    yield ""
    flat = {(each.way, each.runners): each for each in cells if each.rate is None}

    def logs(cell: Seen) -> str:
        other = flat.get((cell.way, cell.runners))
        return f"{number(cell.wal)} / {optional(other.wal if other else None)}"

    yield from by_size(cells, peak, logs)
    yield from _pictures(["wal"], cells)
    if flat:
        yield "Jobs a second, flat out:"
        yield ""
        yield from by_size(cells, None, lambda each: number(each.done))
        yield from _pictures(["flat"], cells)


def _each(cells: Sequence[Seen]) -> str:
    """What a fleet of real processes would hold, from those that were."""
    held = [each.connections / each.runners for each in cells if each.way == "direct" and real(each.runners)]
    return f"; a process that asks the database itself has up to {number(max(held))}" if held else ""


def _pictures(files: Sequence[str], cells: Sequence[Seen]) -> Iterator[str]:
    yield ""
    for each in pictures(cells):
        if each.file in files:
            yield f"![{each.title}]({IMAGES}/{each.name})"
            yield ""
