"""What scaling keeps in the database: what it has decided and why, and what it must not forget."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSeen:
    """A size, and why."""

    at: datetime
    was: int
    replicas: int
    reason: str
    limited_by: str | None
    inputs: Mapping[str, Any]
    proposals: Sequence[Mapping[str, Any]]
    """What each rule made of the number, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFound:
    """A group, by its names."""

    id: int
    install: str
    namespace: str
    name: str
    pool: str

    @property
    def full_name(self) -> str:
        """As commands take it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingKept:
    """What a group's operator wants its successor to know."""

    grp: int
    state: Mapping[str, Any]
    decisions: Sequence[DecisionSeen] = ()


def as_json(kept: Iterable[ScalingKept]) -> str:
    """As the database takes it."""
    return json.dumps([asdict(each) for each in kept], default=lambda moment: moment.isoformat())
