"""`paceline promote`: who leads a group with dispatch: Leader."""

from typing import TYPE_CHECKING, Annotated

import typer

from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline.leading import Candidate

Group = Annotated[
    str | None,
    typer.Option("--group", metavar="[NAMESPACE/]GROUP", help="The Runner's group, where several have its name."),
]
Install = Annotated[
    str | None,
    typer.Option(
        envvar="PACELINE_INSTALL", metavar="NAME", help="Whose group it is, where several operators share a database."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "promote")(promote)


async def promote(
    session: Session,
    runner: Annotated[str | None, typer.Argument(metavar="RUNNER", help="The Runner that shall lead.")] = None,
    group: Group = None,
    install: Install = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="End the promotion in --group: the oldest eligible Runner leads again.")
    ] = False,
) -> None:
    """Make a Runner the leader of its group, for as long as it is eligible.

    The old leader finishes what it has, and claims nothing more. A Runner is eligible while it is registered, does not
    drain and has no `NoLead`, `NoClaim` or `Drain` taint; then the promotion is over, and the
    oldest eligible one leads.

    - `paceline promote builds-7xk2p`
    - `paceline promote laptop --group ci/builds`
    - `paceline promote --clear --group ci/builds`
    """
    from paceline.leading import Leading

    if clear and (runner is not None or group is None):
        raise typer.BadParameter("it takes --group, and no Runner", param_hint="'--clear'")
    if not clear and runner is None:
        raise typer.BadParameter("say which Runner shall lead, or --clear", param_hint="'RUNNER'")
    async with session.database() as database:
        leading = Leading(database)
        if runner is not None:
            now = await leading.promote(runner, group=group, install=install)
            _tell(session, now, runner, f"{runner} leads {now.full_group} (epoch {now.epoch})")
        elif group is not None:
            now, before = await leading.clear(group, install=install)
            ended = f"{before} is no longer promoted" if before else "nobody was promoted"
            _tell(session, now, None, f"{ended} in {now.full_group}; {_who_leads(now)}")


def _tell(session: Session, now: "Candidate", promoted: str | None, text: str) -> None:
    answer = {
        "install": now.install, "group": now.full_group, "promoted": promoted, "leader": now.leader, "epoch": now.epoch,
    }  # fmt: skip
    session.out.tell(answer, text)


def _who_leads(now: "Candidate") -> str:
    return "nobody is eligible to lead" if now.leader is None else f"{now.leader} leads (epoch {now.epoch})"
