"""Taints that users give: by annotation, by spec, on a Runner or on a whole group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from paceline.errors import InvalidInputError
from paceline.taint import Taint, parse_taints
from paceline_operator.api.v1alpha1 import Runner, RunnerGroup
from paceline_operator.domain.names import DRAIN, TAINTS

MOST: Final = 64
"""As many as a spec may have."""
Taints = frozenset[Taint]


@dataclass(frozen=True, slots=True)
class Declared:
    """What an object says about taints."""

    by_source: Mapping[str, Taints]
    """A source that cannot be read is not there: what it said before stays in force."""
    problem: str = ""

    @property
    def drains(self) -> bool:
        """A Drain taint is among them."""
        return any(each.effect == "Drain" for taints in self.by_source.values() for each in taints)


def declared(thing: RunnerGroup | Runner) -> Declared:
    """The taints of a RunnerGroup or a Runner by where they are written."""
    spec = frozenset(Taint(each.key, each.value, each.effect) for each in thing.spec.taints)
    try:
        return Declared({"annotation": _annotated(thing.metadata.annotations), "spec": spec})
    except InvalidInputError as error:
        return Declared({"spec": spec}, str(error))


def _annotated(annotations: Mapping[str, str]) -> Taints:
    found = parse_taints(annotations.get(TAINTS, ""))
    if len(found) > MOST:
        raise InvalidInputError(f"annotation {TAINTS} has {len(found)} taints: give at most {MOST}")
    by_name: dict[tuple[str, str], Taint] = {}
    for each in found:
        known = by_name.setdefault((each.key, each.effect), each)
        if known != each:
            raise InvalidInputError(f'annotation {TAINTS} has both "{known}" and "{each}": keep one of them')
    drain = annotations.get(DRAIN, "").strip()
    if drain not in ("", "true", "false"):
        raise InvalidInputError(f'annotation {DRAIN} is "{drain}": use "true", or remove it')
    return frozenset([*by_name.values(), *([Taint(DRAIN, "", "Drain")] if drain == "true" else [])])


def drain_in(taints: str) -> bool:
    """Whether a list as the database shows it has a Drain taint: whoever has it finishes and gives up its pod."""
    return any(each.effect == "Drain" for each in parse_taints(taints))


def read_declared(text: str) -> dict[str, Taints]:
    """What the database has from a Runner object, by source; the opposite of `source taint,source taint`."""
    found: dict[str, set[Taint]] = {}
    for part in filter(None, text.split(",")):
        source, _, taint = part.partition(" ")
        found.setdefault(source, set()).add(Taint.parse(taint))
    return {source: frozenset(taints) for source, taints in found.items()}
