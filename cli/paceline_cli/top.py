"""`paceline top`: who works on what, live. The queue is asked, not the cluster: it knows every slot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from paceline_cli.cluster import AllNamespaces
from paceline_cli.complete import groups as group_names
from paceline_cli.options import duration
from paceline_cli.output import Column, Output, ago, span
from paceline_cli.promote import full_name
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from paceline.seen import GroupSnapshot, RunnerSeen
    from paceline_cli.source.port import Source

AROUND: Final = 6
"""Lines of a screen that are not runners."""
LEAST_ROWS: Final = 3
SHORTEST: Final = 0.1


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "top", source=True)(top)


@dataclass(frozen=True, slots=True)
class Picture:
    """How it stands at one moment."""

    groups: "Sequence[GroupSnapshot]"
    runners: "Sequence[RunnerSeen]"
    now: datetime


async def top(
    session: Session,
    group: Annotated[
        str | None,
        typer.Argument(metavar="[NAMESPACE/]GROUP", autocompletion=group_names, help="Only this group's."),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Only groups of this namespace; else all.")
    ] = None,
    everywhere: AllNamespaces = False,
    every: Annotated[Any, typer.Option(parser=duration, metavar="DURATION", help="How often it is drawn anew.")] = "2s",
    once: Annotated[bool, typer.Option("--once", help="Show it once, also on a terminal.")] = False,
) -> None:
    """Show groups and their runners by how busy they are, until Ctrl-C; once where stdout is no terminal.

    - `kubectl paceline top -n ci`
    - `kubectl paceline top builds --once --json`
    """
    if every.total_seconds() < SHORTEST:
        raise typer.BadParameter(f"at least {SHORTEST}s: the queue has more to do", param_hint="'--every'")
    namespace = None if everywhere else namespace
    chosen = None if group is None else full_name(group, namespace)
    async with session.source() as source:
        picture = await take(source, chosen, namespace)
        if session.out.json:
            session.out.write_json({"groups": picture.groups, "runners": picture.runners})
        elif once or not session.out.console.is_terminal:
            draw(session.out, picture)
        else:
            await _live(session.out, source, chosen, namespace, every.total_seconds())


async def take(source: "Source", group: str | None, namespace: str | None) -> Picture:
    """What is to be shown."""
    groups = [
        each for each in await source.snapshot()
        if namespace in (None, each.namespace) and group in (None, each.name, f"{each.namespace}/{each.name}")
    ]  # fmt: skip
    if group is not None and not groups:
        from paceline.errors import NotFoundError

        there = ", ".join(sorted(f"{each.namespace}/{each.name}" for each in await source.snapshot())[:10]) or "none"
        raise NotFoundError(f'there is no group "{group}" that may be read (there are: {there})')
    known = {(each.install, each.namespace, each.name) for each in groups}
    runners = [
        each for each in await source.list_runners()
        if (each.install, each.namespace, each.group) in known or (group is None and namespace is None)
    ]  # fmt: skip
    runners.sort(key=lambda each: (-each.instances_claimed, each.namespace, each.group, each.id))
    return Picture(groups, runners, await source.now())


def draw(out: Output, picture: Picture) -> None:
    """Once."""
    if not picture.groups and not picture.runners:
        out.note("no group and no runner here: apply a RunnerGroup, or start one with paceline run")
        return
    if picture.groups:
        out.draw_table(picture.groups, GROUPS)
    out.heading(_heading(picture))
    if picture.runners:
        out.draw_table(picture.runners, _columns(picture.now))


async def _live(out: Output, source: "Source", group: str | None, namespace: str | None, seconds: float) -> None:
    """Drawn anew on the same screen; Ctrl-C is the normal end."""
    import asyncio

    from rich.live import Live

    with Live(console=out.console, auto_refresh=False, screen=True) as live:
        try:
            while True:
                live.update(_screen(out, await take(source, group, namespace)), refresh=True)
                await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            return


def _screen(out: Output, picture: Picture) -> "RenderableType":
    """As much as fits: the busiest first."""
    from rich.console import Group
    from rich.text import Text

    room = max(LEAST_ROWS, out.console.height - len(picture.groups) - AROUND)
    parts: list[RenderableType] = [out.table(picture.groups, GROUPS)] if picture.groups else []
    parts += [Text(), Text(_heading(picture), style="bold")]
    if picture.runners:
        parts.append(out.table(picture.runners[:room], _columns(picture.now)))
    if len(picture.runners) > room:
        parts.append(Text(f"and {len(picture.runners) - room} more", style="dim"))
    return Group(*parts)


def _heading(picture: Picture) -> str:
    busy = sum(each.instances_claimed for each in picture.runners)
    slots = sum(each.slots for each in picture.runners if each.state == "active")
    return f"{len(picture.runners)} runners, {busy} of {slots} slots busy"


GROUPS: "Final[list[Column[GroupSnapshot]]]" = [
    Column("group", lambda each: f"{each.namespace}/{each.name}" if each.namespace else each.name, flex=True),
    Column("state", lambda each: "paused" if each.paused else "active"),
    Column("ready", lambda each: f"{each.ready:,}", right=True),
    Column("running", lambda each: f"{each.running:,}", right=True),
    Column("oldest", lambda each: None if each.oldest_seconds is None else span(each.oldest_seconds), right=True),
    Column("per s", lambda each: None if each.arrival_rate is None else f"{each.arrival_rate:.1f}", right=True),
    Column("takes", lambda each: None if each.service_seconds is None else span(each.service_seconds), right=True),
    Column("dead", lambda each: f"{each.dead:,}", right=True),
    Column("leader", lambda each: each.leader, flex=True),
    Column("pool", lambda each: each.pool, wide=True),
    Column("scheduled", lambda each: f"{each.scheduled:,}", right=True, wide=True),
    Column("blocked", lambda each: f"{each.blocked:,}", right=True, wide=True),
    Column("unclaimable", lambda each: f"{each.unclaimable:,}", right=True, wide=True),
]


def _columns(now: datetime) -> "list[Column[RunnerSeen]]":
    return [
        Column("runner", lambda each: each.id, flex=True),
        Column("group", lambda each: f"{each.namespace}/{each.group}" if each.namespace else each.group, flex=True),
        Column("state", lambda each: each.state),
        Column("busy", lambda each: f"{each.instances_claimed}/{each.slots}", right=True),
        Column("leader", lambda each: "yes" if each.leader else ""),
        Column("heartbeat", lambda each: ago(each.last_heartbeat, now)),
        Column("taints", lambda each: each.taints, flex=True),
        Column("host", lambda each: each.hostname, wide=True),
        Column("revision", lambda each: each.revision, wide=True),
        Column("tags", lambda each: each.tags, wide=True),
    ]
