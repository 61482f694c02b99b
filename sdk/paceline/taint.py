"""Taints keep work away from a runner, tolerations let a job come all the same."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

from paceline.errors import InvalidInputError

Effect = Literal["NoClaim", "PreferNoClaim", "NoLead", "Drain"]
EFFECTS: Final[tuple[str, ...]] = get_args(Effect)

_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_EFFECTS_HINT = "use NoClaim, PreferNoClaim, NoLead or Drain"


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A mark on a runner: `key=value:Effect`."""

    key: str
    value: str
    effect: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one taint as kubectl would write it."""
        name, colon, effect = text.strip().rpartition(":")
        if not colon:
            raise InvalidInputError(f'taint "{text}" has no effect ({_EFFECTS_HINT}, as in gpu=bad:NoClaim)')
        if effect not in EFFECTS:
            raise InvalidInputError(f'taint "{text}" has an unknown effect "{effect}" ({_EFFECTS_HINT})')
        key, _, value = name.partition("=")
        _check(key, value, f'taint "{text}"')
        return cls(key, value, effect)

    def __str__(self) -> str:
        """The form that `parse` reads."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


def parse_taints(text: str) -> list[Taint]:
    """Read a comma-separated list, as in the annotation paceline.dev/taints; empty means none."""
    return [Taint.parse(part) for part in text.split(",") if part.strip()]


def taint_columns(taints: Iterable[Taint]) -> tuple[list[str], list[str], list[str]]:
    """Keys, values and effects, as the database takes them."""
    rows = list(taints)
    return [each.key for each in rows], [each.value for each in rows], [each.effect for each in rows]


def canonical_toleration(text: str) -> str:
    """A toleration in the form that the database compares: `key=value:Effect`, parts left out, or `*`."""
    text = text.strip()
    if text == "*":
        return text
    name, colon, effect = text.rpartition(":")
    if not colon:
        name, effect = text, ""
    elif effect not in EFFECTS:
        raise InvalidInputError(
            f'toleration "{text}" has an unknown effect "{effect}" ({_EFFECTS_HINT}, or leave it out)'
        )
    key, equals, value = name.partition("=")
    _check(key, value, f'toleration "{text}"')
    return f"{key}{equals}{value}{colon}{effect}"


def canonical_list(parts: Iterable[str]) -> str:
    """Sorted, each once: two jobs that need the same share a lane."""
    return ",".join(sorted(set(parts)))


def _check(key: str, value: str, what: str) -> None:
    if not _KEY.fullmatch(key):
        raise InvalidInputError(
            f'{what}: "{key}" is no key (letters, digits, "-", "_", ".", as in gpu or example.com/gpu)'
        )
    if not _VALUE.fullmatch(value):
        raise InvalidInputError(f'{what}: "{value}" is no value (at most 63 letters, digits, "-", "_", ".")')
