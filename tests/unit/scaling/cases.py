"""What the tests of scaling have in common: a moment, and short ways to say spec, past and decision."""

from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.decide import Decision, decide
from paceline_operator.domain.scaling.history import History, Recommendation
from paceline_operator.domain.scaling.signals import Signals

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""A Monday."""


def spec_of(**block: JsonValue) -> Autoscaling:
    return Autoscaling.model_validate({"maxReplicas": 50, **block})


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def said(*runs: tuple[float, int]) -> History:
    """Recommendations by their age in seconds, oldest first."""
    return History(tuple(Recommendation(ago(age), ago(age), replicas) for age, replicas in runs))


def sized(
    spec: Autoscaling, current: int, ready: int, past: History | None = None, now: datetime = NOW, slots: int = 1
) -> Decision:
    """A decision where every ready job wants its own slot."""
    return decide(spec, slots, current, Signals(ready=ready, running=0), past or History(), now)
