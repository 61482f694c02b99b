"""`paceline status`: how the groups of a namespace stand, and what wants somebody. Only the cluster is asked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline_cli.advice import rollout, state, troubles
from paceline_cli.cluster import AllNamespaces, Context, KubeconfigFile, Namespace, Where, reached
from paceline_cli.complete import groups as group_names
from paceline_cli.options import Watch
from paceline_cli.output import Column, Output, span
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline_operator.api.v1alpha1 import RunnerGroup


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "status")(status)


async def status(
    session: Session,
    group: Annotated[
        str | None,
        typer.Argument(metavar="GROUP", autocompletion=group_names, help="Only this RunnerGroup, with its conditions."),
    ] = None,
    again: Watch = False,
    everywhere: AllNamespaces = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:
    """Show how RunnerGroups stand: runners, queue, leader, update; what is wrong, and what to do next.

    - `kubectl paceline status -n ci`
    - `kubectl paceline status -A -o wide`
    - `kubectl paceline status builds -n ci --watch`
    """
    from paceline_cli.waiting import watch

    async with reached(namespace, context, kubeconfig, everywhere=everywhere) as where:

        async def show() -> None:
            found = await find_groups(where, group)
            if session.out.json:
                session.out.write_json([as_json(each) for each in found] if group is None else as_json(found[0]))
            elif group is None:
                draw_groups(session.out, found, where)
            else:
                draw_group(session.out, found[0])

        await watch(session, show, again)


async def find_groups(where: Where, name: str | None) -> "list[RunnerGroup]":
    """All in scope, or one by its name."""
    from paceline.errors import InvalidInputError, NotFoundError
    from paceline_operator.api.v1alpha1 import RunnerGroup
    from paceline_operator.ports.resources import RUNNER_GROUP

    if name is not None and not where.everywhere:
        return [RunnerGroup.model_validate(await where.need(RUNNER_GROUP, name))]
    found = [RunnerGroup.model_validate(each) for each in await where.cluster.list(RUNNER_GROUP, where.scope)]
    if name is None:
        return found
    chosen = [each for each in found if each.metadata.name == name]
    if not chosen:
        raise NotFoundError(f"there is no RunnerGroup {name} in any namespace: kubectl get rgrp -A shows them")
    if len(chosen) > 1:
        names = ", ".join(each.metadata.namespace for each in chosen)
        raise InvalidInputError(f"several namespaces have a RunnerGroup {name} ({names}): choose with -n")
    return chosen


def draw_groups(out: Output, found: "Sequence[RunnerGroup]", where: Where) -> None:
    """A line for each, and then what wants somebody."""
    if not found:
        out.note(f"no RunnerGroup in {where.scope_in_words}: kubectl get rgrp -A shows where there are some")
        return
    out.draw_table(found, _columns(everywhere=where.everywhere))
    wanting = [(each, trouble) for each in found for trouble in troubles(each)]
    if wanting:
        out.heading("What wants somebody")
        out.draw_table(wanting, [
            Column("group", lambda row: _name(row[0], where.everywhere)),
            Column("what", lambda row: row[1].what, fold=True),
            Column("next", lambda row: row[1].step, fold=True),
        ])  # fmt: skip


def draw_group(out: Output, group: "RunnerGroup") -> None:
    """One with everything that is known of it."""
    seen, queue = group.status, group.status.queue
    runners = (
        f"{seen.replicas or 0} ({seen.ready_replicas or 0} ready, {seen.busy_replicas or 0} busy, "
        f"{seen.idle_replicas or 0} idle, {seen.pending_replicas or 0} pending)"
    )
    jobs = None if queue is None else (
        f"{queue.ready or 0:,} ready, {queue.running or 0:,} running, {queue.scheduled or 0:,} scheduled, "
        f"{queue.blocked or 0:,} blocked, {queue.unclaimable or 0:,} unclaimable, {queue.dead or 0:,} dead"
    )  # fmt: skip
    advised = seen.recommendation
    wanted = None if advised is None or advised.replicas is None else (
        f"{advised.replicas} ({advised.reason}{f', limited by {advised.limited_by}' if advised.limited_by else ''})"
    )  # fmt: skip
    out.facts([
        ("Group", f"{group.metadata.namespace}/{group.metadata.name}"), ("State", state(group)),
        ("Pool", seen.pool), ("Dispatch", group.spec.dispatch), ("Leader", _leader(group)),
        ("Runners", runners), ("Wanted", wanted), ("Jobs", jobs), ("Oldest", _oldest(group)),
        ("Update", f"{rollout(group)} ({seen.update_revision or seen.current_revision or 'no revision yet'})"),
    ])  # fmt: skip
    if seen.conditions:
        out.heading("Conditions")
        out.draw_table(seen.conditions, [
            Column("condition", lambda each: each.type),
            Column("status", lambda each: each.status),
            Column("reason", lambda each: each.reason),
            Column("message", lambda each: each.message, fold=True),
        ])  # fmt: skip
    found = troubles(group)
    out.heading("Next" if found else "Nothing wants you")
    for each in found:
        out.write(f"- {each.what}\n  {each.step}")


def as_json(group: "RunnerGroup") -> dict[str, Any]:
    """The status as the API has it, with our words about it."""
    return {
        "namespace": group.metadata.namespace, "name": group.metadata.name, "state": state(group),
        "status": group.status.model_dump(mode="json", by_alias=True, exclude_none=True),
        "next": [{"what": each.what, "step": each.step} for each in troubles(group)],
    }  # fmt: skip


def _columns(*, everywhere: bool) -> "list[Column[RunnerGroup]]":
    columns: list[Column[RunnerGroup]] = [
        Column("group", lambda each: each.metadata.name, flex=True),
        Column("state", state),
        Column("runners", lambda each: f"{each.status.ready_replicas or 0}/{each.status.replicas or 0}", right=True),
        Column("busy", lambda each: each.status.busy_replicas or 0, right=True),
        Column("idle", lambda each: each.status.idle_replicas or 0, right=True),
        Column("pending", lambda each: each.status.pending_replicas or 0, right=True),
        Column("queued", lambda each: f"{(each.status.queue and each.status.queue.ready) or 0:,}", right=True),
        Column("oldest", _oldest, right=True),
        Column("leader", _leader, flex=True),
        Column("update", rollout),
        Column("pool", lambda each: each.status.pool, wide=True),
        Column("running", lambda each: (each.status.queue and each.status.queue.running) or 0, right=True, wide=True),
        Column("dead", lambda each: (each.status.queue and each.status.queue.dead) or 0, right=True, wide=True),
        Column("revision", lambda each: each.status.current_revision, wide=True),
    ]
    return [Column("namespace", lambda each: each.metadata.namespace), *columns] if everywhere else columns


def _name(group: "RunnerGroup", everywhere: bool) -> str:
    return f"{group.metadata.namespace}/{group.metadata.name}" if everywhere else group.metadata.name


def _leader(group: "RunnerGroup") -> str | None:
    if group.spec.dispatch != "Leader":
        return None
    leader = group.status.leader
    return "nobody" if leader is None or leader.runner is None else f"{leader.runner} (epoch {leader.epoch})"


def _oldest(group: "RunnerGroup") -> str | None:
    queue = group.status.queue
    return None if queue is None or queue.oldest_seconds is None else span(queue.oldest_seconds)
