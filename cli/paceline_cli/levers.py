"""The user's levers, as annotations: drain, taint, pause. The operator does the rest, later if it is away now."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.errors import InvalidInputError
from paceline_cli.cluster import Context, KubeconfigFile, Namespace, Where, reached
from paceline_cli.run import Session, command
from paceline_cli.target import TURNS, GroupName, Target, TargetName, annotate, find

if TYPE_CHECKING:
    from paceline.taint import Taint

Change = Callable[[Target], dict[str, str | None]]


def add_to(app: typer.Typer) -> None:
    """Make them commands of the app; `drain` also drains the runner on this machine, see runner.py."""
    for name, body in (("undrain", undrain), ("taint", taint), ("untaint", untaint), ("pause", pause)):
        command(app, name)(body)
    command(app, "resume")(resume)


async def drain(session: Session, name: str, where: Where) -> None:
    """What `paceline drain NAME` does."""
    from paceline_operator.domain.names import DRAIN

    target = await _pull(where, name, lambda _: {DRAIN: "true"})
    then = f"kubectl paceline undrain {name} -n {where.namespace} brings it back"
    what = "all its runners finish and leave" if target.is_group else "it finishes, leaves and is replaced"
    session.out.tell(
        {"name": target.name, "kind": target.resource.kind, "draining": True}, f"{target.words} drains: {what}; {then}"
    )


async def undrain(
    session: Session, name: TargetName, namespace: Namespace = None, context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:  # fmt: skip
    """Take the drain of a Runner or a group away: it gets a pod again.

    A Drain taint of another name stays: see `untaint`.

    - `kubectl paceline undrain builds-7xk2p -n ci`
    """
    from paceline_operator.domain.names import DRAIN

    async with reached(namespace, context, kubeconfig) as where:
        target = await _pull(where, name, lambda _: {DRAIN: None})
    left = [str(each) for each in _taints(target) if each.effect == "Drain"]
    then = f"; it still has the taint {', '.join(left)}: kubectl paceline untaint {name} {left[0]}" if left else ""
    session.out.tell(
        {"name": target.name, "kind": target.resource.kind, "draining": bool(left)},
        f"{target.words} {'still drains' if left else 'works again'}{then}",
    )


async def taint(
    session: Session,
    name: TargetName,
    taints: Annotated[list[str], typer.Argument(metavar="TAINT", help="As in gpu=bad:NoClaim.")],
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:
    """Add taints to a Runner, or to all runners of a group; one of the same key and effect is replaced.

    Effects: `NoClaim` (claims only what tolerates it), `PreferNoClaim` (leaves work to others until it is 5 s old),
    `NoLead` (is never elected), `Drain` (finishes and gives up its pod).

    - `kubectl paceline taint builds-7xk2p gpu=bad:NoClaim -n ci`
    - `kubectl paceline taint group/builds dev:NoLead dev:NoClaim`
    """
    from paceline.taint import Taint
    from paceline_operator.domain.names import TAINTS
    from paceline_operator.domain.taints import MOST

    added = [Taint.parse(each) for each in taints]

    def change(target: Target) -> dict[str, str | None]:
        kept = {(each.key, each.effect): each for each in [*_taints(target), *added]}
        if len(kept) > MOST:
            raise InvalidInputError(f"{target.words} would have {len(kept)} taints: {MOST} are the most")
        return {TAINTS: ",".join(map(str, kept.values()))}

    async with reached(namespace, context, kubeconfig) as where:
        target = await _pull(where, name, change)
    _tell(session, target, f"kubectl paceline untaint {name} {added[0]} -n {where.namespace} takes it away")


async def untaint(
    session: Session,
    name: TargetName,
    taints: Annotated[
        list[str] | None, typer.Argument(metavar="TAINT", help="A key, key:Effect, or the whole taint.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are set by annotation.")] = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:
    """Take taints away that were given by annotation. Those of a spec, of a group or of a runner's own stay.

    - `kubectl paceline untaint builds-7xk2p gpu -n ci`
    - `kubectl paceline untaint group/builds --all`
    """
    from paceline_operator.domain.names import TAINTS

    if bool(taints) == everything:
        raise typer.BadParameter("say which, or --all (one of them)", param_hint="'TAINT'")

    def change(target: Target) -> dict[str, str | None]:
        if everything:
            return {TAINTS: None}
        had = _taints(target)
        kept = [each for each in had if not any(_is_meant(each, word) for word in taints or ())]
        strange = [word for word in taints or () if not any(_is_meant(each, word) for each in had)]
        if strange:
            there = ", ".join(map(str, had)) or "none"
            raise InvalidInputError(
                f"{target.words} has no taint {', '.join(strange)} by annotation (there are: {there}): "
                "those of a spec are taken away there"
            )
        return {TAINTS: ",".join(map(str, kept)) or None}

    async with reached(namespace, context, kubeconfig) as where:
        target = await _pull(where, name, change)
    _tell(session, target, f"kubectl get rnr -o wide -n {where.namespace} shows those in force")


async def pause(
    session: Session, group: GroupName, namespace: Namespace = None, context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:  # fmt: skip
    """Let a group claim nothing and keep its size, until `resume`. What runs finishes, and pods stay.

    - `kubectl paceline pause builds -n ci`
    """
    await _pause(session, group, "true", namespace, context, kubeconfig)


async def resume(
    session: Session, group: GroupName, namespace: Namespace = None, context: Context = None,
    kubeconfig: KubeconfigFile = None,
) -> None:  # fmt: skip
    """End the pause of a group.

    - `kubectl paceline resume builds -n ci`
    """
    await _pause(session, group, None, namespace, context, kubeconfig)


async def _pause(
    session: Session, group: str, value: str | None, namespace: str | None, context: str | None, kubeconfig: str | None
) -> None:
    from paceline_operator.domain.names import PAUSED

    async with reached(namespace, context, kubeconfig) as where:
        await _pull(where, f"group/{group}", lambda _: {PAUSED: value})
    then = f"kubectl paceline resume {group} -n {where.namespace} ends it"
    text = (
        f"group {group} is paused: it claims nothing and keeps its size; {then}" if value else f"group {group} goes on"
    )
    session.out.tell({"group": group, "paused": value is not None}, text)


async def _pull(where: Where, name: str, change: Change) -> Target:
    """Change annotations by what they are now. Who was quicker is asked again, so that nobody's taint is lost."""
    from paceline_operator.ports.errors import ConflictError

    for turn in range(TURNS):
        target = await find(where, name)
        wanted = change(target)
        try:
            await annotate(where, target, wanted)
        except ConflictError:
            if turn == TURNS - 1:
                raise
        else:
            break
    return await find(where, name)


def _taints(target: Target) -> "list[Taint]":
    from paceline.taint import parse_taints
    from paceline_operator.domain.names import TAINTS

    try:
        return parse_taints(target.annotations.get(TAINTS, ""))
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error}: correct the annotation {TAINTS} of {target.words}, or untaint --all"
        ) from None


def _is_meant(taint: "Taint", word: str) -> bool:
    return word in (taint.key, f"{taint.key}:{taint.effect}", str(taint))


def _tell(session: Session, target: Target, then: str) -> None:
    found = [str(each) for each in _taints(target)]
    said = f"has {', '.join(found)} by annotation" if found else "has no taint by annotation"
    session.out.tell(
        {"name": target.name, "kind": target.resource.kind, "taints": found}, f"{target.words} {said}; {then}"
    )
