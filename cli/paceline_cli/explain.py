"""`paceline explain`: why a group has its size, why a Runner claims or does not, why a job is where it is."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.complete import targets
from paceline_cli.options import duration
from paceline_cli.output import Column, ago
from paceline_cli.promote import GroupNamespace, Install, full_name
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from paceline.scaling import DecisionSeen, GroupFound
    from paceline.seen import RunnerSeen, Unclaimable
    from paceline_cli.source.port import Source

SINCE: Final = timedelta(hours=1)
RUNNER: Final = ("runner/", "rnr/")
JOB: Final = "job/"
HELD: Final = 20
"""How many of its jobs are told of a Runner."""


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "explain", source=True)(explain)


async def explain(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="[NAMESPACE/]GROUP|runner/NAME|job/ID", autocompletion=targets,
            help="A RunnerGroup; a Runner; a job, also by its number alone.",
        ),
    ],
    since: Annotated[
        timedelta | None,
        typer.Option(
            parser=duration, metavar="DURATION", show_default="1h", help="How far to look back: a week at most."
        ),
    ] = None,
    most: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="Show so many at most.")] = 50,
    namespace: GroupNamespace = None,
    install: Install = None,
) -> None:  # fmt: skip
    """Say why something is as it is: a group's size, what a Runner does, where a job is.

    Of a group the decisions about its size are shown, the newest first, with what each was made from and what limited
    it. A decision is kept when the size changes, or when another rule has the last word. `-o wide` shows the numbers,
    `--json` also what each rule proposed.

    - `paceline explain builds`
    - `paceline explain ci/builds --since 2d --json`
    - `kubectl paceline explain runner/builds-7xk2p -n ci`
    - `kubectl paceline explain job/4711`
    """
    async with session.source() as source:
        if what.startswith(JOB) or what.isdecimal():
            await _explain_job(session, source, what.removeprefix(JOB))
        elif what.startswith(RUNNER):
            await _explain_runner(session, source, what.partition("/")[2], namespace, install)
        else:
            group = full_name(what.removeprefix("group/").removeprefix("rgrp/"), namespace)
            found = await _one(source, group, install)
            decisions = await source.list_decisions(found.id, since=since or SINCE, most=most)
            _tell_decisions(session, found, decisions, await source.now())
            if not session.out.json and (stuck := await source.unclaimable(found.pool)):
                _tell_stuck(session, stuck)


def _tell_decisions(
    session: Session, found: "GroupFound", decisions: "Sequence[DecisionSeen]", now: "datetime"
) -> None:  # fmt: skip
    if session.out.json:
        session.out.write_json(decisions)
    elif not decisions:
        session.out.note(
            f"nothing was decided about {found.full_name} in that time: its size stayed, or the queue has no say"
        )
    else:
        session.out.draw_table(decisions, _columns(now))


def _tell_stuck(session: Session, stuck: "Sequence[Unclaimable]") -> None:
    from paceline_cli.pool_view import UNCLAIMABLE

    session.out.heading("Unclaimable: ready jobs that no runner could take")
    session.out.draw_table(stuck, UNCLAIMABLE)


async def _explain_job(session: Session, source: "Source", given: str) -> None:
    from paceline_cli.jobs import found_job
    from paceline_cli.why import why_job

    if not given.isdecimal():
        raise typer.BadParameter(f'"{given}" is no id of a job (a number, as enqueue and list show it)')
    job, attempts = await found_job(source, int(given))
    pools = {each.name: each for each in await source.list_pools()}
    runners, stuck = await source.list_runners(job.pool), await source.unclaimable(job.pool)
    why = why_job(job, attempts, pools.get(job.pool), runners, stuck, await source.now())
    head = f"job {job.id} ({job.kind}) of pool {job.pool} is {job.state}:"
    session.out.tell({"job": job.id, "pool": job.pool, "state": job.state, "why": why}, _list(head, why))


async def _explain_runner(
    session: Session, source: "Source", name: str, namespace: str | None, install: str | None
) -> None:
    from paceline_cli.why import why_runner

    runner = await _one_runner(source, name, namespace, install)
    pools = {each.name: each for each in await source.list_pools()}
    held = [
        each for each in await source.list_jobs(runner.pool, state="running", limit=500) if each.runner == runner.id
    ]  # fmt: skip
    groups = [
        each for each in await source.snapshot()
        if (each.install, each.namespace, each.name) == (runner.install, runner.namespace, runner.group)
    ]  # fmt: skip
    led = any(each.dispatch == "Leader" for each in groups)
    why = why_runner(runner, pools.get(runner.pool), led, held[:HELD], await source.now())
    whose = f"{runner.namespace}/{runner.group}" if runner.namespace else runner.group
    head = f"runner {runner.id} of {whose} is {runner.state}, {runner.instances_claimed} of {runner.slots} slots busy:"
    answer = {"runner": runner.id, "group": whose, "state": runner.state, "why": why}
    session.out.tell(answer, _list(head, why))


async def _one_runner(source: "Source", name: str, namespace: str | None, install: str | None) -> "RunnerSeen":
    from paceline.errors import InvalidInputError, NotFoundError

    every = [
        each for each in await source.list_runners()
        if namespace in (None, each.namespace) and install in (None, each.install)
    ]  # fmt: skip
    found = [each for each in every if each.id == name]
    if not found:
        there = ", ".join(sorted({each.id for each in every})[:10]) or "none"
        raise NotFoundError(
            f'no runner "{name}" is registered (there are: {there}): '
            "kubectl get rnr shows what the operator says of one that has no process"
        )
    if len({each.runner for each in found}) > 1:
        places = " or ".join(sorted({f"-n {each.namespace} --install {each.install}" for each in found}))
        raise InvalidInputError(f'several runners are called "{name}": say which one is meant ({places})')
    return found[0]


def _list(head: str, why: list[str]) -> str:
    return "\n".join([head, *(f"- {each}" for each in why)])


async def _one(source: "Source", group: str, install: str | None) -> "GroupFound":
    from paceline.errors import InvalidInputError, NotFoundError

    found = await source.find_groups(group, install)
    if not found:
        names = ", ".join(each.full_name for each in [*await source.find_groups(install=install)][:10]) or "none"
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
