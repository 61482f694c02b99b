"""`python -m chaos`: break everything that can break, for some minutes, and hold the history against the promises."""

import asyncio
import dataclasses
import json
import secrets
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from chaos.checks.every import violations
from chaos.faults import Fault
from chaos.pair import private_mounts
from chaos.plan import Plan, make_plan
from chaos.record import Record
from chaos.report import Setting, not_done, summary, table, write
from chaos.run import run
from history.checks.violation import explain
from paceline_dev.errors import DevError
from paceline_dev.progress import Reporter, stderr_reporter

BUILD = Path(__file__).resolve().parents[2] / "build" / "chaos"
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def chaos(
    minutes: Annotated[float, typer.Option(min=0.1, help="How long, about. In 30 every fault happens.")] = 30.0,
    seed: Annotated[int | None, typer.Option(help="Replays a plan.")] = None,
    only: Annotated[str, typer.Option(help="Only these faults, with commas; each at least once.")] = "",
    output: Annotated[Path, typer.Option(help="Where the results go.", show_default=False)] = BUILD,
) -> None:
    """Every fault by name against jobs, operators, runners and gateways; exit code 1 if a promise was broken."""
    plan = make_plan(secrets.randbelow(10**6) if seed is None else seed, minutes, chosen(only))
    report = stderr_reporter()
    report.line(f"seed {plan.seed}: {len(plan.rounds)} rounds, {not_done(plan)}")
    setting, limited = Setting.here(), private_mounts()
    with tempfile.TemporaryDirectory(prefix="paceline-chaos-") as folder:
        Path(folder).chmod(0o755)
        record = asyncio.run(played(plan, Path(folder), report, limited=limited))
    found = violations(record)
    file = write(plan, record, found, output, setting)
    print(table(record, found))
    print(summary(record, found))
    print(f"results: {file}")
    print(f"replay: {plan.replay}")
    if found:
        print(f"\n{explain(record.history, found)}\n\nthe record: {keep(record, output, plan.seed)}")
        raise typer.Exit(1)


async def played(plan: Plan, folder: Path, report: Reporter, *, limited: bool) -> Record:
    """A run that SIGTERM ends as Ctrl-C does: everything that was started is ended first."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await run(plan, folder, report, limited=limited)


def chosen(text: str) -> tuple[Fault, ...]:
    """The faults of a list with commas."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    if unknown := [each for each in names if each not in set(Fault)]:
        raise DevError(f"--only names no fault: {', '.join(unknown)} (there are: {', '.join(Fault)})")
    return tuple(map(Fault, names))


def keep(record: Record, folder: Path, seed: int) -> Path:
    """For whoever wants to look closer: one JSON object for each thing that was seen."""
    path = folder / f"seed-{seed}.jsonl"
    history = record.history
    with path.open("w") as file:
        for each in (*record.injected, *history.events, *history.marks, *history.late, *record.answers, *record.seen,
                     *record.ends, *record.standing):  # fmt: skip
            file.write(json.dumps({"what": type(each).__name__, **dataclasses.asdict(each)}) + "\n")
    return path


def main() -> None:
    """What is wrong is one line, and nothing stays behind when it is stopped."""
    try:
        app()
    except (asyncio.CancelledError, KeyboardInterrupt):
        sys.exit(143)
    except DevError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
