"""What a lever is pulled on: a Runner or a RunnerGroup, by its name alone or, where both have it, with its kind."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from paceline.errors import InvalidInputError, NotFoundError
from paceline_cli.complete import groups, targets

if TYPE_CHECKING:
    from paceline_cli.cluster import Where
    from paceline_operator.ports.resources import ResourceKind

KINDS: Final = {
    "group": "group", "rgrp": "group", "runnergroup": "group", "runnergroups": "group",
    "runner": "runner", "rnr": "runner", "runners": "runner",
}  # fmt: skip
TURNS: Final = 5
"""How often a read and the write that depends on it are begun anew when others are quicker."""

TargetName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", autocompletion=targets, help="A Runner or a RunnerGroup; group/NAME where both have the name."
    ),
]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", autocompletion=groups, help="The RunnerGroup.")]


@dataclass(frozen=True, slots=True)
class Target:
    """An object that was found."""

    resource: "ResourceKind"
    found: dict[str, Any]

    @property
    def name(self) -> str:
        """Its own."""
        return str(self.found["metadata"]["name"])

    @property
    def is_group(self) -> bool:
        """Whether all runners of a group are meant."""
        return self.resource.kind == "RunnerGroup"

    @property
    def words(self) -> str:
        """For messages."""
        return f"{'group' if self.is_group else 'runner'} {self.name}"

    @property
    def annotations(self) -> dict[str, str]:
        """What is said there already."""
        return dict(self.found["metadata"].get("annotations") or {})


def split(given: str) -> tuple[str | None, str]:
    """The kind that was said, if one was, and the name."""
    kind, slash, name = given.rpartition("/")
    if not slash:
        return None, given
    if kind not in KINDS:
        raise InvalidInputError(f'"{given}" is no name: write runner/NAME or group/NAME')
    return KINDS[kind], name


async def find(where: "Where", given: str) -> Target:
    """A Runner or a group; one name for both is an error that says how to choose."""
    from paceline_operator.ports.resources import RUNNER, RUNNER_GROUP

    kind, name = split(given)
    resources = {"runner": RUNNER, "group": RUNNER_GROUP}
    wanted = [resources[kind]] if kind else [RUNNER, RUNNER_GROUP]
    found = [
        Target(each, seen) for each in wanted if (seen := await where.cluster.get(each, where.namespace, name))
    ]  # fmt: skip
    if len(found) > 1:
        raise InvalidInputError(f"{name} is a Runner and a RunnerGroup: write runner/{name} or group/{name}")
    if not found:
        raise NotFoundError(
            f"there is no {' or '.join(each.kind for each in wanted)} {name} in namespace {where.namespace}: "
            "kubectl get rgrp,rnr -A shows those that there are"
        )
    return found[0]


async def annotate(where: "Where", target: Target, annotations: dict[str, str | None]) -> None:
    """Set some annotations of exactly this version of the object, or (None) take them away."""
    meta = target.found["metadata"]
    patch = {"metadata": {"annotations": annotations, "resourceVersion": meta["resourceVersion"]}}
    written = await where.cluster.patch(target.resource, where.namespace, target.name, patch, uid=meta["uid"])
    if written is None:
        raise NotFoundError(f"{target.words} is gone: nothing was changed")
