"""`paceline promote`: who leads a group with dispatch: Leader."""

from typing import TYPE_CHECKING, Annotated

import typer

from paceline_cli.complete import groups, runners
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline_cli.source.port import Led

Group = Annotated[
    str | None,
    typer.Option(
        "--group", metavar="[NAMESPACE/]GROUP", autocompletion=groups,
        help="The Runner's group, where several have its name.",
    ),
]  # fmt: skip
Install = Annotated[
    str | None,
    typer.Option(
        envvar="PACELINE_INSTALL", metavar="NAME", help="Whose group it is, where several operators share a database."
    ),
]
GroupNamespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Where the group is; or say NAMESPACE/GROUP.")
]


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "promote", source=True)(promote)


def full_name(group: str, namespace: str | None) -> str:
    """A group as the database is asked for it."""
    if namespace is None:
        return group
    if "/" in group and not group.startswith(f"{namespace}/"):
        raise typer.BadParameter(f"two namespaces are given, {namespace} and that of {group} (leave one out)")
    return group if "/" in group else f"{namespace}/{group}"


async def promote(
    session: Session,
    runner: Annotated[
        str | None, typer.Argument(metavar="RUNNER", autocompletion=runners, help="The Runner that shall lead.")
    ] = None,
    group: Group = None,
    namespace: GroupNamespace = None,
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
    if clear and (runner is not None or group is None):
        raise typer.BadParameter("it takes --group, and no Runner", param_hint="'--clear'")
    if not clear and runner is None:
        raise typer.BadParameter("say which Runner shall lead, or --clear", param_hint="'RUNNER'")
    if namespace is not None and group is None:
        raise typer.BadParameter("it goes with --group", param_hint="'--namespace'")
    chosen = None if group is None else full_name(group, namespace)
    async with session.source() as source:
        if runner is not None:
            now = await source.promote(runner, group=chosen, install=install)
            _tell(session, now, runner, f"{runner} leads {now.group} (epoch {now.epoch})")
        elif chosen is not None:
            now = await source.clear(chosen, install=install)
            ended = f"{now.before} is no longer promoted" if now.before else "nobody was promoted"
            _tell(session, now, None, f"{ended} in {now.group}; {_who_leads(now)}")


def _tell(session: Session, now: "Led", promoted: str | None, text: str) -> None:
    answer = {
        "install": now.install, "group": now.group, "promoted": promoted, "leader": now.leader, "epoch": now.epoch,
    }  # fmt: skip
    session.out.tell(answer, text)


def _who_leads(now: "Led") -> str:
    return "nobody is eligible to lead" if now.leader is None else f"{now.leader} leads (epoch {now.epoch})"
