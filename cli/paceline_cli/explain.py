"""`paceline explain`: why a group had the sizes that it had."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.options import duration
from paceline_cli.output import Column, ago
from paceline_cli.promote import Install
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from datetime import datetime

    from paceline.reading import Reader
    from paceline.scaling import DecisionSeen, GroupFound

SINCE: Final = timedelta(hours=1)


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "explain")(explain)


async def explain(
    session: Session,
    group: Annotated[str, typer.Argument(metavar="[NAMESPACE/]GROUP", help="The RunnerGroup.")],
    since: Annotated[
        timedelta | None,
        typer.Option(
            parser=duration, metavar="DURATION", show_default="1h", help="How far to look back: a week at most."
        ),
    ] = None,
    most: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="Show so many at most.")] = 50,
    install: Install = None,
) -> None:
    """Show the decisions about a group's size, the newest first, with what each was made from and what limited it.

    A decision is kept when the size changes, or when another rule has the last word. `-o wide` shows the numbers,
    `--json` also what each rule proposed.

    - `paceline explain builds`
    - `paceline explain ci/builds --since 2d --json`
    """
    from paceline.reading import Reader

    async with session.database() as database:
        reader = Reader(database)
        found = await _one(reader, group, install)
        decisions = await reader.list_decisions(found.id, since=since or SINCE, most=most)
        now = await database.value("SELECT clock_timestamp()")
    if session.out.json:
        session.out.write_json(decisions)
        return
    if not decisions:
        session.out.note(
            f"nothing was decided about {found.full_name} in that time: its size stayed, or the queue has no say"
        )
        return
    session.out.draw_table(decisions, _columns(now))


async def _one(reader: "Reader", group: str, install: str | None) -> "GroupFound":
    from paceline.errors import InvalidInputError, NotFoundError

    found = await reader.find_groups(group, install)
    if not found:
        names = ", ".join(each.full_name for each in (await reader.find_groups(install=install))[:10]) or "none"
        raise NotFoundError(f'there is no group "{group}" that this login may read (there are: {names})')
    if len(found) > 1:
        ways = " or ".join(f"{each.full_name} --install {each.install}" for each in found)
        raise InvalidInputError(f'several groups are called "{group}": say which one is meant ({ways})')
    return found[0]


def _columns(now: "datetime") -> "list[Column[DecisionSeen]]":
    return [
        Column("when", lambda row: ago(row.at, now)),
        Column("was", lambda row: row.was, right=True),
        Column("runners", lambda row: row.replicas, right=True),
        Column("reason", lambda row: row.reason),
        Column("limited by", lambda row: row.limited_by or "-", fold=True),
        Column("why", lambda row: "; ".join(each["text"] for each in row.proposals), fold=True),
        Column("inputs", lambda row: _inputs(row), fold=True, wide=True),
    ]


def _inputs(row: "DecisionSeen") -> str:
    return ", ".join(f"{name} {value}" for name, value in row.inputs.items() if value is not None)
