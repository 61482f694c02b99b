"""The command: read, play, show."""

from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.options import duration
from paceline_cli.output import Column, span
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline_cli.simulate.group import Group
    from paceline_operator.domain.scaling.played import Load, Simulated

DEFAULT_DAY: Final = "2026-01-05"
"""A Monday."""
SERVICE: Final = timedelta(seconds=10)
STARTUP: Final = timedelta(seconds=5)
LENGTH: Final = timedelta(hours=24)

Against = Annotated[
    Path | None, typer.Option(metavar="OTHER.yaml", help="A second RunnerGroup, to be compared with the first.")
]
Jobs = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv",
        help="Jobs to replay: the moment of becoming ready (seconds, or a moment with its zone), and seconds of work.",
    ),
]
Curve = Annotated[
    list[str] | None,
    typer.Option(metavar="CURVE", help="Jobs made up: steady:RATE, day:RATE or burst:COUNT@TIME; may be repeated."),
]
Recorded = Annotated[
    str | None,
    typer.Option(metavar="POOL", help="Jobs that this pool has really had, as far back as --since, by its history."),
]
Since = Annotated[
    timedelta | None,
    typer.Option(parser=duration, metavar="DURATION", show_default="24h", help="How far --recorded goes back."),
]
Service = Annotated[
    timedelta | None,
    typer.Option(
        parser=duration,
        metavar="DURATION",
        show_default="10s",
        help="Mean time of a curve's jobs; single ones vary around it.",
    ),
]
Startup = Annotated[
    timedelta | None,
    typer.Option(
        parser=duration, metavar="DURATION", show_default="5s", help="From the decision to a runner that takes jobs."
    ),
]
Length = Annotated[
    timedelta | None,
    typer.Option(parser=duration, metavar="DURATION", show_default="24h", help="How long a curve goes on."),
]
Day = Annotated[
    str, typer.Option(metavar="DATE", help="The day (UTC) at whose midnight it begins; schedules ask for it.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Another number makes up other jobs of the same curve.")]
Svg = Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Draw runners and waiting jobs over time.")]


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "simulate")(simulate)


async def simulate(
    session: Session,
    group: Annotated[Path, typer.Argument(metavar="GROUP.yaml", help="A RunnerGroup with an autoscaling block.")],
    against: Against = None,
    jobs: Jobs = None,
    curve: Curve = None,
    recorded: Recorded = None,
    since: Since = None,
    service: Service = None,
    startup: Startup = None,
    length: Length = None,
    day: Day = DEFAULT_DAY,
    seed: Seed = 1,
    svg: Svg = None,
) -> None:
    """Play jobs against an autoscaling block, and show what it costs and how long they wait.

    Every decision is made by the code that the operator runs. Only the runners are made up: they start in --startup,
    take jobs in their order, and are taken away when they hold none. No cluster is asked, and a database only for
    --recorded.

    A curve is `steady:5/s` (or `/m`, `/h`), `day:20/s` (nothing at 02:00, the peak at 14:00) or `burst:400@10:00`
    (every day, times in UTC); several add up. A line of a CSV file is `ready,service`, as in `12.5,3` or
    `2026-05-01T08:00:12Z,3`.

    - `paceline simulate builds.yaml --curve steady:5/s --service 30s`
    - `paceline simulate builds.yaml --curve day:20/s --curve burst:400@10:00 --svg day.svg`
    - `paceline simulate now.yaml --against then.yaml --jobs monday.csv`
    - `paceline simulate now.yaml --against then.yaml --recorded builds --since 7d`
    """
    from paceline_cli.simulate.group import read_group

    groups = [read_group(each) for each in (group, against) if each is not None]
    if sum(map(bool, (jobs, curve, recorded))) != 1:
        raise typer.BadParameter(
            "say which jobs, in one way: --jobs FILE.csv, --curve or --recorded POOL", param_hint="'--jobs'"
        )
    if recorded is not None:
        load = await _recorded(session, recorded, _or(since, LENGTH))
    else:
        load = _load(jobs, curve or [], _or(service, SERVICE), _or(length, LENGTH), day, seed)
    found = [(each, _play(session, each, load, _or(startup, STARTUP))) for each in groups]
    if svg is not None:
        _draw(session, svg, load, found)
    if session.out.json:
        session.out.write_json([_figures(each, figures) for each, figures in found])
    else:
        session.out.draw_table(found, _columns(found))


def _or(given: timedelta | None, default: timedelta) -> timedelta:
    return default if given is None else given


async def _recorded(session: Session, pool: str, since: timedelta) -> "Load":
    from paceline_cli.simulate.recorded import history_load

    async with session.database() as database:
        return await history_load(database, pool, since)


def _load(jobs: Path | None, curves: list[str], service: timedelta, length: timedelta, day: str, seed: int) -> "Load":
    from paceline_cli.simulate.curve import curve_load
    from paceline_cli.simulate.recorded import csv_load

    try:
        began = date.fromisoformat(day)
    except ValueError:
        raise typer.BadParameter(f'"{day}" is no day (write it like {DEFAULT_DAY})', param_hint="'--day'") from None
    return csv_load(jobs, began) if jobs is not None else curve_load(curves, service, length, began, seed)


def _play(session: Session, group: "Group", load: "Load", startup: timedelta) -> "Simulated":
    from paceline_cli.waiting import progress
    from paceline_operator.domain.scaling import simulate as simulator

    for problem in group.problems:
        session.out.note(f"warning: {group.label}: {problem}")
    with progress(session.out, f"playing {group.label}", len(load.ready)) as show:
        return simulator.simulate(group.autoscaling, group.slots, load, startup.total_seconds(), show)


def _draw(session: Session, file: Path, load: "Load", found: "list[tuple[Group, Simulated]]") -> None:
    from paceline.errors import InvalidInputError
    from paceline_cli.simulate.picture import picture

    try:
        file.write_text(picture(load.start, [(group.label, figures) for group, figures in found]), encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"--svg {file} cannot be written: {error.strerror}") from None
    session.out.note(f"drawn: {file}")


def _figures(group: "Group", figures: "Simulated") -> dict[str, object]:
    kept: dict[str, object] = {
        name: getattr(figures, name) for name in figures.__dataclass_fields__ if name != "points"
    }
    return {"group": group.label, **kept}


def _columns(found: "list[tuple[Group, Simulated]]") -> "list[Column[tuple[Group, Simulated]]]":
    columns: list[Column[tuple[Group, Simulated]]] = [
        Column("group", lambda row: row[0].label, flex=True),
        Column("runner hours", lambda row: f"{row[1].runner_hours:,.1f}", right=True),
        Column("wait p50", lambda row: span(row[1].wait_p50), right=True),
        Column("p95", lambda row: span(row[1].wait_p95), right=True),
        Column("p99", lambda row: span(row[1].wait_p99), right=True),
        Column("max", lambda row: span(row[1].wait_max), right=True),
        Column("jobs", lambda row: f"{row[1].jobs:,}", right=True),
        Column("most", lambda row: row[1].most_runners, right=True),
        Column("ups", lambda row: f"{row[1].scale_ups:,}", right=True),
        Column("downs", lambda row: f"{row[1].scale_downs:,}", right=True),
    ]
    if any(figures.unfinished for _, figures in found):
        columns.insert(-3, Column("unfinished", lambda row: f"{row[1].unfinished:,}", right=True))
    return columns
