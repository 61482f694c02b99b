"""`python -m paceline_bench`: run a bench, write its results, and fail when a budget is missed."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from paceline_bench import marked
from paceline_bench.bench import Bench, Run
from paceline_bench.budgets import Budget
from paceline_bench.errors import BenchError
from paceline_bench.marked import Tables
from paceline_bench.plots import draw
from paceline_bench.report import RESULTS, measure, write
from paceline_dev.progress import stderr_reporter

app = typer.Typer(name="paceline_bench", no_args_is_help=True, add_completion=False, help=__doc__)
QuickOption = Annotated[bool, typer.Option("--quick", envvar="QUICK", help="Shorter, and only a first impression.")]
JobsOption = Annotated[int | None, typer.Option(min=100, help="So many jobs for each subject.")]
RoundsOption = Annotated[int | None, typer.Option(min=1, help="So many repetitions.")]
OnlyOption = Annotated[list[str] | None, typer.Option(help="Measure only this figure; may be repeated.")]
MinutesOption = Annotated[int | None, typer.Option(min=2, envvar="MINUTES", help="So long, instead of two hours.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Write nothing; fail if the page differs.")]
OutputOption = Annotated[Path, typer.Option(help="Where the results go.", show_default=False)]


@app.callback()
def benches() -> None:
    """Benchmarks of Paceline."""


@app.command()
def runner(
    quick: QuickOption = False,
    jobs: JobsOption = None,
    rounds: RoundsOption = None,
    only: OnlyOption = None,
    output: OutputOption = RESULTS,
) -> None:
    """The runner beside raw SQL, PgQueuer and procrastinate; its start, its weight, its leave."""
    from paceline_bench.runner import BENCH

    run = Run(report=stderr_reporter(), quick=quick, jobs=jobs, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def queue(
    quick: QuickOption = False, rounds: RoundsOption = None, only: OnlyOption = None, output: OutputOption = RESULTS
) -> None:
    """The queue itself beside raw SQL, PgQueuer, Chancy, procrastinate and SAQ."""
    from paceline_bench.queue.bench import BENCH

    run = Run(report=stderr_reporter(), quick=quick, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def operator(
    quick: QuickOption = False, rounds: RoundsOption = None, only: OnlyOption = None, output: OutputOption = RESULTS
) -> None:
    """The operator: 400 pods from none, writes per life, a thousand runners, deaths."""
    from paceline_bench.operator import BENCH

    run = Run(report=stderr_reporter(), quick=quick, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def failover(
    quick: QuickOption = False, rounds: RoundsOption = None, only: OnlyOption = None, output: OutputOption = RESULTS
) -> None:
    """Two operators: how soon the other one acts when the active one is killed, or told to end."""
    from paceline_bench.failover import BENCH

    run = Run(report=stderr_reporter(), quick=quick, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def autoscale(
    quick: QuickOption = False, rounds: RoundsOption = None, only: OnlyOption = None, output: OutputOption = RESULTS
) -> None:
    """Groups that follow their queue: from zero, at rest, down under load, and a simulated day."""
    from paceline_bench.autoscale import BENCH

    run = Run(report=stderr_reporter(), quick=quick, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def rollout(
    quick: QuickOption = False, rounds: RoundsOption = None, only: OnlyOption = None, output: OutputOption = RESULTS
) -> None:
    """An update of runners that are all at work, by a RunnerGroup and by a Deployment."""
    from paceline_bench.rollout import BENCH

    run = Run(report=stderr_reporter(), quick=quick, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def gateway(
    quick: QuickOption = False, rounds: RoundsOption = None, only: OnlyOption = None, output: OutputOption = RESULTS
) -> None:
    """One gateway: jobs by HTTP, and up to a thousand runners that poll."""
    from paceline_bench.gateway.bench import BENCH

    run = Run(report=stderr_reporter(), quick=quick, rounds=rounds, only=frozenset(only or ()))
    raise typer.Exit(play(BENCH, run, output))


@app.command()
def soak(quick: QuickOption = False, minutes: MinutesOption = None, output: OutputOption = RESULTS) -> None:
    """Hours of bursts, scaling, updates, taints and hand-overs: nothing is lost, and nothing grows."""
    from paceline_bench.soak.bench import BENCH, MINUTES, measure

    run = Run(report=stderr_reporter(), quick=quick or (minutes or MINUTES) < MINUTES)
    raise typer.Exit(play(replace(BENCH, function=partial(measure, minutes=minutes)), run, output))


@app.command()
def benchmarks(check: CheckOption = False) -> None:
    """Write the tables of docs/benchmarks.md from the committed results."""
    from paceline_bench.compared.results import read
    from paceline_bench.compared.tables import PAGE, tables

    bring_up_to_date(PAGE, tables(read(RESULTS)), check=check)


@app.command()
def growth(quick: QuickOption = False, only: OnlyOption = None, output: OutputOption = RESULTS) -> None:
    """Backlog, groups, runners, lanes and history by tens: what grows, and how."""
    from paceline_bench.growth.bench import bench
    from paceline_bench.growth.sizes import FULL, QUICK

    run = Run(report=stderr_reporter(), quick=quick, only=frozenset(only or ()))
    raise typer.Exit(play(bench(QUICK if quick else FULL), run, output))


@app.command()
def scaling(
    check: CheckOption = False,
    again: Annotated[bool, typer.Option("--play", help="Let paceline simulate play its days again first.")] = False,
) -> None:
    """Write the tables of docs/scaling.md from the committed results."""
    from paceline_bench.scaling import constants, page, played

    if again:
        played.play(RESULTS)
    bring_up_to_date(page.PAGE, page.tables(constants.read(RESULTS), played.read(RESULTS)), check=check)


@app.command()
def assess(
    quick: QuickOption = False,
    way: Annotated[list[str] | None, typer.Option(help="Only this way; may be repeated.")] = None,
    runners: Annotated[list[int] | None, typer.Option(help="Only with so many runners; may be repeated.")] = None,
    rate: Annotated[
        list[str] | None, typer.Option(help="Only so many jobs a minute, or flat; may be repeated.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where results and page go, instead of their own places.", show_default=False)
    ] = None,
) -> None:
    """Up to a thousand runners by every way: whether Postgres is enough, or it takes a message queue."""
    from paceline_bench.assess.bench import DOCS
    from paceline_bench.assess.bench import play as play_assess
    from paceline_bench.assess.plan import FULL, QUICK

    plan = (QUICK if quick else FULL).only(way or (), runners or (), rate or ())
    run = Run(report=stderr_reporter(), quick=quick)
    raise typer.Exit(play_assess(run, plan, output or RESULTS, output or DOCS, draw))


@app.command()
def assess_page(check: CheckOption = False) -> None:
    """Write the page of the assessment anew from the results that are kept."""
    from paceline_bench.assess.bench import DOCS, drift, rewrite

    if not check:
        rewrite(RESULTS, DOCS)
    elif differences := drift(RESULTS, DOCS):
        raise BenchError("\n".join(differences))


def bring_up_to_date(page: Path, tables: Tables, *, check: bool) -> None:
    """Write the tables of a page, or complain that they differ."""
    if not check:
        marked.write(page, tables)
    elif differences := marked.drift(page, tables):
        raise BenchError("\n".join(differences))


def play(bench: Bench, run: Run, output: Path, limits: Sequence[Budget] | None = None) -> int:
    """Run a bench; the exit code says whether every budget was kept."""
    if unknown := run.only - set(bench.labels):
        raise BenchError(
            f"{bench.name} has no figure {', '.join(sorted(unknown))} (there are: {', '.join(bench.labels)})"
        )
    result = asyncio.run(measure(bench, run, limits))
    file = write(result, output, draw)
    run.report.line(f"results: {file.name} and {file.stem}.md")
    for verdict in result.verdicts:
        print(f"{'kept' if verdict.ok else 'missed':6}  {verdict.sentence}")
    return 1 if result.missed else 0


def main() -> None:
    """Run a bench; what is wrong is one line, and nothing stays behind when it is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        app()
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
