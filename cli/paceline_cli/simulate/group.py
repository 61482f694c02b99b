"""A RunnerGroup from a file, of which only the size matters here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from paceline.errors import InvalidInputError
from paceline_cli.operator import NOT_INSTALLED
from paceline_cli.payload import read_text
from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.rules import tolerance_problems
from paceline_operator.domain.scaling.schedules import schedule_problems

API_GROUP: Final = "paceline.dev/"


class _Spec(BaseModel):
    """Without what a simulation does not ask for: a sketch of a group is enough."""

    model_config = ConfigDict(extra="ignore")

    slots: int = Field(default=1, ge=1, le=1000)
    autoscaling: Autoscaling


@dataclass(frozen=True, slots=True)
class Group:
    """What is played."""

    label: str
    slots: int
    autoscaling: Autoscaling

    @property
    def problems(self) -> tuple[str, ...]:
        """What in the block cannot be read, and does not count."""
        return schedule_problems(self.autoscaling) + tolerance_problems(self.autoscaling)


def read_group(file: Path) -> Group:
    """The one RunnerGroup of a file; other objects may stand beside it."""
    found = [each for each in _documents(file) if isinstance(each, dict) and each.get("kind") == "RunnerGroup"]
    found = [each for each in found if str(each.get("apiVersion", "")).startswith(API_GROUP)]
    if len(found) != 1:
        what = "no RunnerGroup" if not found else f"{len(found)} RunnerGroups"
        raise InvalidInputError(
            f"{file} has {what} (apiVersion: paceline.dev/v1alpha1, kind: RunnerGroup): give a file with exactly one"
        )
    spec = found[0].get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("autoscaling"), dict):
        raise InvalidInputError(f"{file} has no spec.autoscaling: add a block with at least maxReplicas")
    try:
        read = _Spec.model_validate(spec)
    except ValidationError as error:
        raise InvalidInputError(f"{file}: {_first(error)}") from None
    _check_bounds(file, read.autoscaling)
    return Group(str(file), read.slots, read.autoscaling)


def _documents(file: Path) -> list[object]:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None
    try:
        return list(yaml.safe_load_all(read_text(file)))
    except yaml.YAMLError as error:
        raise InvalidInputError(f"{file} is not YAML: {error}") from None


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    place = ".".join(["spec", *(str(part) for part in found["loc"])])
    return f"{place}: {found['msg'].lower()} (found {found['input']!r})"


def _check_bounds(file: Path, block: Autoscaling) -> None:
    """What the API server would refuse, in its words."""
    most = block.max_replicas
    floors = {"minReplicas": block.min_replicas, "minIdle": block.min_idle}
    floors |= {f"schedules[{place}].minReplicas": each.min_replicas for place, each in enumerate(block.schedules)}
    for field, value in floors.items():
        if value > most:
            raise InvalidInputError(
                f"{file}: autoscaling.{field} is {value} and must be at most autoscaling.maxReplicas, {most}: "
                "raise maxReplicas, or lower this value"
            )
