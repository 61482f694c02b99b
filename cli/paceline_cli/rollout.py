"""`paceline restart` and `paceline rollout`: new revisions of a group, from beside it."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from paceline.errors import InvalidInputError, NotFoundError
from paceline_cli.cluster import Context, KubeconfigFile, Namespace, Where, reached
from paceline_cli.complete import runners
from paceline_cli.options import duration
from paceline_cli.output import Column, ago
from paceline_cli.run import NOT_IN_TIME, NOT_SUCCEEDED, Session, command
from paceline_cli.target import GroupName

if TYPE_CHECKING:
    from paceline_operator.api.v1alpha1 import RunnerGroup
    from paceline_operator.domain.revision import RevisionSeen

Group = GroupName
EVERY: Final = 1.0
FAILED: Final = ("RolledBack", "RolloutStopped")

app = typer.Typer(no_args_is_help=True, help="New revisions of a group: how far they are, and back.")


def add_to(main: typer.Typer) -> None:
    """Make them commands of the app."""
    command(main, "restart")(restart)
    main.add_typer(app, name="rollout")
    for name, body in (("pause", pause), ("resume", resume)):
        command(app, name)(body)
    command(app, "status")(status)
    command(app, "history")(history)
    command(app, "undo")(undo)


async def restart(
    session: Session,
    group: Group,
    runner: Annotated[
        str | None, typer.Option(metavar="NAME", autocompletion=runners, help="Only this Runner of the group.")
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:
    """Restart the runners of a group, a few at a time, each after it has finished its jobs.

    It is a new revision like any other: the first runners are watched, and a roll that goes wrong goes back.

    - `kubectl paceline restart builds -n ci`
    - `kubectl paceline restart builds --runner builds-7xk2p`
    """
    from paceline_operator.domain.names import RESTARTED_AT
    from paceline_operator.ports.resources import RUNNER, RUNNER_GROUP

    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    async with reached(namespace, context, kubeconfig) as where:
        found = await where.need(RUNNER_GROUP, group)
        if runner is not None:
            found = await where.need(RUNNER, runner)
            if found["spec"]["groupRef"]["name"] != group:
                raise InvalidInputError(f"Runner {runner} is of group {found['spec']['groupRef']['name']}, not {group}")
        resource = RUNNER_GROUP if runner is None else RUNNER
        await _annotate(where, resource, found, {RESTARTED_AT: now})
    what = f"group {group}" if runner is None else f"runner {runner}"
    then = f"kubectl paceline rollout status {group} -n {where.namespace} shows how far it is"
    session.out.tell({"group": group, "runner": runner, "restartedAt": now}, f"{what} restarts; {then}")


async def pause(
    session: Session, group: Group, namespace: Namespace = None, context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:  # fmt: skip
    """Let no runner be restarted for a new revision until `resume`; all else goes on.

    - `kubectl paceline rollout pause builds -n ci`
    """
    await _lever(session, group, "true", namespace, context, kubeconfig)


async def resume(
    session: Session, group: Group, namespace: Namespace = None, context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:  # fmt: skip
    """Go on with a paused update.

    - `kubectl paceline rollout resume builds -n ci`
    """
    await _lever(session, group, None, namespace, context, kubeconfig)


async def status(
    session: Session,
    group: Group,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Wait until it is done.")] = True,
    most: Annotated[
        timedelta | None,
        typer.Option(
            "--timeout", parser=duration, metavar="DURATION", show_default="for ever", help="Wait so long at most."
        ),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> int:
    """Show how far an update is, and wait for its end. Exit code 3: it went back; 4: it took too long.

    - `kubectl paceline rollout status builds -n ci`
    - `kubectl paceline rollout status builds --no-watch --json`
    """
    import asyncio

    from paceline_operator.ports.resources import RUNNER_GROUP

    deadline = None if most is None else asyncio.get_running_loop().time() + most.total_seconds()
    told = ""
    async with reached(namespace, context, kubeconfig) as where:
        while True:
            found = _read(await where.need(RUNNER_GROUP, group))
            state, text = _state(found)
            if not watch or state != "rolling":
                break
            if text != told:
                session.out.note(text)
                told = text
            if deadline is not None and asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(EVERY)
    if session.out.json:
        seen = found.status
        session.out.write_json(
            {
                "state": state, "message": text, "currentRevision": seen.current_revision,
                "updateRevision": seen.update_revision, "failedRevision": seen.failed_revision,
                "replicas": seen.replicas, "updatedReplicas": seen.updated_replicas,
            }
        )  # fmt: skip
    else:
        session.out.write(text)
    if state == "failed":
        return NOT_SUCCEEDED
    return NOT_IN_TIME if watch and state == "rolling" else 0


async def history(
    session: Session, group: Group, namespace: Namespace = None, context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:  # fmt: skip
    """List the revisions that are kept, the newest first.

    - `kubectl paceline rollout history builds -n ci`
    """
    from paceline_operator.ports.resources import RUNNER_GROUP

    async with reached(namespace, context, kubeconfig) as where:
        found = _read(await where.need(RUNNER_GROUP, group))
        revisions = await _revisions(where, group)
    marks = {found.status.current_revision: "current", found.status.failed_revision: "failed"}
    if found.status.update_revision not in marks:
        marks[found.status.update_revision] = "rolling out"
    now = datetime.now(UTC)
    if session.out.json:
        rows = [
            {"number": each.number, "revision": each.name, "state": marks.get(each.name, ""), "madeOf": each.made_of}
            for each in revisions
        ]
        session.out.write_json(rows)
        return
    columns: list[Column[RevisionSeen]] = [
        Column("NUMBER", lambda each: each.number, right=True),
        Column("REVISION", lambda each: each.name),
        Column("STATE", lambda each: marks.get(each.name, "")),
        Column("IMAGE", lambda each: _image(each.made_of), flex=True),
        Column("WATCHED", lambda each: ago(each.watched_since, now)),
    ]
    session.out.rows(revisions, columns, none=f"no revision of {group} is kept yet")


async def undo(
    session: Session,
    group: Group,
    to: Annotated[
        int | None,
        typer.Option("--to-revision", metavar="NUMBER", show_default="the one before", help="A number of `history`."),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:
    """Make the spec what it was in an earlier revision. This is the only command that writes a group's spec.

    - `kubectl paceline rollout undo builds -n ci`
    - `kubectl paceline rollout undo builds --to-revision 3`
    """
    from paceline_operator.domain.names import RESTARTED_AT
    from paceline_operator.domain.revision import FIELDS, revision_of
    from paceline_operator.ports.resources import RUNNER_GROUP

    async with reached(namespace, context, kubeconfig) as where:
        raw = await where.need(RUNNER_GROUP, group)
        found = _read(raw)
        revisions = await _revisions(where, group)
        chosen = _choose(revisions, found, revision_of(found), to)
        patch: dict[str, Any] = {
            "spec": {
                name: merge(raw["spec"].get(name), chosen.made_of.get(name)) for name in FIELDS
                if raw["spec"].get(name) != chosen.made_of.get(name)
            },
            "metadata": {"annotations": {RESTARTED_AT: chosen.made_of.get("restartedAt")}},
        }  # fmt: skip
        await where.cluster.patch(RUNNER_GROUP, where.namespace, group, patch, uid=raw["metadata"]["uid"])
    text = f"group {group} goes back to revision {chosen.number} ({chosen.name})"
    session.out.tell({"group": group, "revision": chosen.name, "number": chosen.number}, text)


def merge(have: object, want: object) -> object:
    """A JSON merge patch that makes one value the other: what is too much becomes null."""
    if not isinstance(have, dict) or not isinstance(want, dict):
        return want
    changed = {key: merge(have.get(key), value) for key, value in want.items() if key not in have or have[key] != value}
    return {**changed, **{key: None for key in have if key not in want}}


def _choose(revisions: "list[RevisionSeen]", group: "RunnerGroup", own: str, number: int | None) -> "RevisionSeen":
    """The one that was asked for; else the one that runners have, if that is another, else the one before."""
    others = [each for each in revisions if each.name != own]
    if number is not None:
        others = [each for each in revisions if each.number == number]
    elif current := [each for each in others if each.name == group.status.current_revision]:
        others = current
    if not others:
        wanted = "earlier revision" if number is None else f"revision {number}"
        raise NotFoundError(f"group {group.metadata.name} has no {wanted}: paceline rollout history lists them")
    return others[0]


async def _lever(
    session: Session, group: str, value: str | None, namespace: str | None, context: str | None, kubeconfig: str | None
) -> None:
    from paceline_operator.domain.names import ROLLOUT_PAUSED
    from paceline_operator.ports.resources import RUNNER_GROUP

    async with reached(namespace, context, kubeconfig) as where:
        await _annotate(where, RUNNER_GROUP, await where.need(RUNNER_GROUP, group), {ROLLOUT_PAUSED: value})
    text = f"updates of group {group} {'wait until rollout resume' if value else 'go on'}"
    session.out.tell({"group": group, "paused": value is not None}, text)


async def _annotate(where: Where, resource: Any, found: dict[str, Any], annotations: dict[str, str | None]) -> None:
    meta = found["metadata"]
    patch = {"metadata": {"annotations": annotations}}
    await where.cluster.patch(resource, where.namespace, meta["name"], patch, uid=meta["uid"])


def _read(raw: dict[str, Any]) -> "RunnerGroup":
    from paceline_operator.api.v1alpha1 import RunnerGroup

    return RunnerGroup.model_validate(raw)


async def _revisions(where: Where, group: str) -> "list[RevisionSeen]":
    from paceline_operator.domain.names import LABEL_GROUP
    from paceline_operator.domain.revision import read_revision
    from paceline_operator.ports.resources import CONTROLLER_REVISION

    kept = await where.cluster.list(CONTROLLER_REVISION, where.namespace, labels={LABEL_GROUP: group})
    return sorted(map(read_revision, kept), key=lambda each: -each.number)


def _state(group: "RunnerGroup") -> tuple[str, str]:
    """`done`, `rolling` or `failed`, and a sentence."""
    from paceline_operator.domain.revision import revision_of

    seen, wanted = group.status, revision_of(group)
    progress = next((each for each in seen.conditions if each.type == "Progressing"), None)
    message = progress.message if progress is not None else ""
    if seen.failed_revision == wanted:
        return "failed", message or f"revision {wanted} failed"
    if seen.update_revision != wanted:
        return "rolling", f"revision {wanted} is not seen yet by the operator"
    if seen.current_revision != wanted:
        return "rolling", message or f"revision {wanted} is being rolled out"
    return "done", f"all runners have revision {wanted}"


def _image(made_of: Any) -> str:
    containers = ((made_of.get("template") or {}).get("spec") or {}).get("containers") or []
    return next((str(each.get("image", "")) for each in containers if each.get("name") == "runner"), "")
