"""The rules of an HPA's behavior, one function each; None where a rule has no objection.

They are those of Kubernetes 1.36 (pkg/controller/podautoscaler), rounding in floats included: 10 percent more than 100
runners are 111 there, because 100 * 1.1 is a little more than 110.
"""

import math
from datetime import datetime, timedelta

from paceline_operator.api.autoscaling import ScalingPolicy
from paceline_operator.domain.scaling.demand import Demand
from paceline_operator.domain.scaling.history import History, Recommendation
from paceline_operator.domain.scaling.reasons import ScaleReason, Verdict
from paceline_operator.domain.scaling.rules import Rules


def tolerate(demand: Demand, current: int, up: Rules, down: Rules) -> Verdict | None:
    """Leave the size alone when demand is close to it. From zero there is nothing to compare with."""
    if current == 0 or demand.runners == current:
        return None
    ratio = demand.ratio(current)
    if not 1.0 - down.tolerance <= ratio <= 1.0 + up.tolerance:
        return None
    rules = up if demand.runners > current else down
    text = f"demand is {ratio:.2f} of the size, within {rules.tolerance:g} of 1"
    return Verdict("tolerance", current, ScaleReason.WITHIN_TOLERANCE, f"{rules.field}.tolerance", text)


def stabilize(wanted: int, current: int, up: Rules, down: Rules, past: History, now: datetime) -> Verdict | None:
    """Grow to the lowest, shrink to the highest of all sizes that were recommended in the window."""
    if wanted > current:
        rules, reason, word = up, ScaleReason.UP_STABILIZED, "lowest"
        held = _extreme(past, now - up.window, highest=False)
        if held is None or held.replicas >= wanted:
            return None
        size = max(current, held.replicas)
    else:
        rules, reason, word = down, ScaleReason.DOWN_STABILIZED, "highest"
        held = _extreme(past, now - down.window, highest=True)
        if wanted == current or held is None or held.replicas <= wanted:
            return None
        size = min(current, held.replicas)
    seconds = int(rules.window.total_seconds())
    text = f"the {word} size recommended in the last {seconds} s is {held.replicas}"
    field = f"{rules.field}.stabilizationWindowSeconds"
    return Verdict("stabilization", size, reason, field, text, held.until + rules.window)


def limit_rate(wanted: int, current: int, up: Rules, down: Rules, past: History, now: datetime) -> Verdict | None:
    """Change by no more than the policies allow within their periods."""
    rules = up if wanted > current else down
    if wanted == current or (rules.select != "Disabled" and not rules.policies):
        return None
    growing = wanted > current
    if rules.select == "Disabled":
        text = f"selectPolicy is Disabled: the group does not {'grow' if growing else 'shrink'}"
        return Verdict("policies", current, ScaleReason.DISABLED, f"{rules.field}.selectPolicy", text)
    allowed = [(_allowed(policy, current, past, now, growing=growing), policy) for policy in rules.policies]
    most = (rules.select == "Max") == growing
    limit, policy = (max if most else min)(allowed, key=lambda each: each[0])
    limit = max(limit, current) if growing else min(limit, current)
    if (wanted <= limit) if growing else (wanted >= limit):
        return None
    unit = "%" if policy.type == "Percent" else "runners" if policy.value > 1 else "runner"
    text = f"at most {policy.value} {unit} {'more' if growing else 'fewer'} in {policy.period_seconds} s"
    reason = ScaleReason.UP_LIMIT if growing else ScaleReason.DOWN_LIMIT
    return Verdict("policies", limit, reason, f"{rules.field}.policies", text, _relief(rules, past, now))


def _allowed(policy: ScalingPolicy, current: int, past: History, now: datetime, *, growing: bool) -> int:
    """The size that one policy allows, counted from the size at the start of its period."""
    start = current - past.change_after(now - timedelta(seconds=policy.period_seconds))
    if policy.type == "Pods":
        return start + policy.value if growing else start - policy.value
    if growing:
        return math.ceil(start * (1 + policy.value / 100))
    return int(start * (1 - policy.value / 100))


def _relief(rules: Rules, past: History, now: datetime) -> datetime | None:
    """When the first change leaves the period of a policy."""
    ends = (each.at + timedelta(seconds=policy.period_seconds) for policy in rules.policies for each in past.changes)
    return min((end for end in ends if end > now), default=None)


def _extreme(past: History, cutoff: datetime, *, highest: bool) -> Recommendation | None:
    found = None
    for each in past.recommendations:
        if each.until > cutoff and (
            found is None or (each.replicas > found.replicas if highest else each.replicas < found.replicas)
        ):
            found = each
    return found
