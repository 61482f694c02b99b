"""What others who scale a group are told: how many runners its queue wants, or why nobody can say.

A number that is old, or a zero for want of a better one, would let them take runners away. So there is none then.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter

from paceline.errors import PacelineError
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.levers import is_paused
from paceline_operator.domain.scaling.decide import Decision

FRESH: Final = timedelta(seconds=10)
"""So old at most a look at the queue may be; there is one every second or two."""


class NoDemandError(PacelineError):
    """Nobody can say what a queue wants; `missing`: because there is no such group, or nothing scales it."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        """Say why."""
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandTold:
    """What one group's queue wants, before behavior, windows and bounds."""

    namespace: str
    group: str
    demand: int
    """Runners."""
    ready: int
    running: int
    at: datetime
    """When the queue was read."""


WIRE: Final = TypeAdapter(DemandTold)
"""As JSON, for whoever asks over HTTP."""


def tell_demand(
    group: RunnerGroup | None, decision: Decision | None, read: datetime | None, now: datetime
) -> DemandTold:
    """What the last decision began with; `read` is when the queue was read, None if it cannot be.

    NoDemandError: that is not known, or no longer.
    """
    if group is None:
        raise NoDemandError("the group has not been looked at yet: ask again")
    where = f"{group.metadata.namespace}/{group.metadata.name}"
    if group.spec.scaling_mode == "Off":
        raise NoDemandError(f"{where} has no autoscaling: add spec.autoscaling with mode External", missing=True)
    if is_paused(group):
        raise NoDemandError(f"{where} is paused: its size stays")
    first = decision.proposals[0] if decision is not None else None
    if read is None or decision is None or first is None or first.rule != "demand":
        raise NoDemandError(f"the queue of {where} cannot be read: its condition QueueReachable says why")
    if now - read > FRESH:
        raise NoDemandError(f"the queue of {where} was last read {(now - read).total_seconds():.0f} s ago")
    if decision.at < read:
        raise NoDemandError(f"nothing is decided for {where} while it or its pool is paused")
    ready, running = decision.inputs["ready"], decision.inputs["running"]
    assert isinstance(ready, int)
    assert isinstance(running, int)
    return DemandTold(
        namespace=group.metadata.namespace, group=group.metadata.name, demand=first.replicas, ready=ready,
        running=running, at=read,
    )  # fmt: skip
