"""`paceline database`: for whoever looks after the database, when something has happened to it."""

import sys
from typing import Annotated

import typer

from paceline_cli.run import Session, command

app = typer.Typer(no_args_is_help=True, help="What to do after something has happened to the database itself.")


@command(app, "restored")
async def restored(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Make a database safe that was restored, or that has lost its last writes in a failover.

    Run it as the owner of the tables, before runners, gateways and operators are let in. All numbers (ids, fences,
    epochs) go on far beyond those that were given out and forgotten, so that a runner that has lived through it cannot
    be taken for another. Every registration ends: idle runners register anew, busy ones let go of their jobs and end.
    Jobs that were running go back without a charge.
    """
    from paceline.admin import restored as make_safe
    from paceline.errors import InvalidInputError

    async with session.database() as database:
        question = f"end all registrations in {database.address.place}, and let all its numbers go on far ahead?"
        if not yes:
            if not (sys.stdin.isatty() and session.out.notes.is_terminal):
                raise InvalidInputError(f"{question} Nobody is there to answer: add --yes")
            if not typer.confirm(question, err=True):
                session.out.note("nothing was changed")
                return
        registrations, jobs = await make_safe(database)
    session.out.tell(
        {"registrations": registrations, "jobs": jobs},
        f"{registrations:,} registrations ended, {jobs:,} jobs went back; let runners, gateways and operators in",
    )
