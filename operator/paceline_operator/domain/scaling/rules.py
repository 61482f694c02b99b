"""The `behavior` of an autoscaling block with every default filled in."""

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Final

from paceline.errors import InvalidInputError
from paceline_operator.api.autoscaling import Autoscaling, Behavior, Quantity, ScalingPolicy, ScalingRules

UP: Final = "behavior.scaleUp"
DOWN: Final = "behavior.scaleDown"
HPA_UP_POLICIES: Final = (
    ScalingPolicy(type="Pods", value=4, period_seconds=15),
    ScalingPolicy(type="Percent", value=100, period_seconds=15),
)
HPA_DOWN_POLICIES: Final = (ScalingPolicy(type="Percent", value=100, period_seconds=15),)
DOWN_WINDOW: Final = 300
"""Seconds; the HPA's own default, and ours."""

_QUANTITY: Final = re.compile(r"\+?(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@dataclass(frozen=True, slots=True)
class Rules:
    """How the size may move in one direction."""

    field: str
    window: timedelta
    select: str
    policies: tuple[ScalingPolicy, ...]
    """None at all: any change is allowed."""
    tolerance: float


def rules_of(behavior: Behavior | None) -> tuple[Rules, Rules]:
    """Up and down."""
    if behavior is None:
        return UNSET_UP, UNSET_DOWN
    up, down = behavior.scale_up, behavior.scale_down
    return (
        UNSET_UP if up is None else _filled(up, UP),
        UNSET_DOWN if down is None else _filled(down, DOWN),
    )


def tolerance_problems(spec: Autoscaling) -> tuple[str, ...]:
    """A tolerance that cannot be read, with the field and the fix; it counts as none."""
    behavior = spec.behavior or Behavior()
    found = []
    for field, rules in ((UP, behavior.scale_up), (DOWN, behavior.scale_down)):
        try:
            quantity(0 if rules is None or rules.tolerance is None else rules.tolerance)
        except InvalidInputError as error:
            found.append(f"autoscaling.{field}.tolerance {error}")
    return tuple(found)


def quantity(written: Quantity) -> float:
    """A Kubernetes quantity that is not negative: 0, "0.1", "100m", "1e-1"."""
    if isinstance(written, int) and written >= 0:
        return float(written)
    match = _QUANTITY.fullmatch(str(written).strip())
    if match is None:
        raise InvalidInputError(f'"{written}" is no quantity, or a negative one (write it like "0.1", with quotes)')
    number, exponent, suffix = match.groups()
    value = Fraction(number) * Fraction(10) ** (int(exponent or 0) + _DECIMAL.get(suffix, 0))
    return float(value * 2 ** _BINARY.get(suffix, 0))


@lru_cache(maxsize=1024)
def _filled(given: ScalingRules, field: str) -> Rules:
    """What the HPA makes of a direction that is set; only its tolerance of a tenth, a flag of its own, is not ours."""
    window = given.stabilization_window_seconds
    if window is None:
        window = 0 if field == UP else DOWN_WINDOW
    return Rules(
        field,
        timedelta(seconds=window),
        given.select_policy or "Max",
        given.policies or (HPA_UP_POLICIES if field == UP else HPA_DOWN_POLICIES),
        _tolerance(given),
    )


def _tolerance(given: ScalingRules) -> float:
    try:
        return 0.0 if given.tolerance is None else quantity(given.tolerance)
    except InvalidInputError:
        return 0.0


UNSET_UP: Final = Rules(UP, timedelta(), "Max", (), 0.0)
UNSET_DOWN: Final = Rules(DOWN, timedelta(seconds=DOWN_WINDOW), "Max", (), 0.0)
