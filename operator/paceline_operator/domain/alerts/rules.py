"""The alerts, as data. Names, limits and times are those of manifests/monitoring/alerts.yaml, and a test compares them.

Four of that file are not here: an operator cannot tell that no operator acts or answers, and what gateways do is known
to gateways alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from paceline_operator.domain.alerts.facts import WINDOW, Facts

FULL: Final = 5000
"""So many dead letters are told whether more arrive or not: counting may end there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One alert: it begins when `value` has been over `over` for as long as `lasts`."""

    name: str
    severity: Literal["critical", "warning"]
    value: Callable[[Facts], float | None]
    """What is looked at; None: nobody knows."""
    over: float = 0
    lasts: timedelta = timedelta()
    window: timedelta = timedelta()
    """How far back `value` looks."""
    summary: str
    """With {group} for namespace and name, and {pool}."""
    describe: Callable[[Facts], str]

    def holds(self, facts: Facts) -> bool | None:
        """Whether it is so; None: nobody knows, or not yet."""
        value = self.value(facts)
        if value is None:
            return None
        return True if value > self.over else None if facts.watched < self.window else False


def _minutes(number: int) -> timedelta:
    return timedelta(minutes=number)


def span(seconds: float | None) -> str:
    """A time as people read it, as in `1h 5m 1s`."""
    left = int(seconds or 0)
    parts = [(left // 86400, "d"), (left // 3600 % 24, "h"), (left // 60 % 60, "m"), (left % 60, "s")]
    first = next((place for place, (number, _) in enumerate(parts) if number), len(parts) - 1)
    return " ".join(f"{number}{unit}" for number, unit in parts[first:])


def _dead(facts: Facts) -> float | None:
    return facts.dead if facts.dead is not None and facts.dead >= FULL else facts.arrived


def _describe_dead(facts: Facts) -> str:
    if facts.dead is not None and facts.dead >= FULL:
        return f"{facts.dead} dead letters are in its pool, or more: that is where counting may end."
    return f"{facts.arrived} more dead letters are in its pool than at some time in the last 15 minutes."


RULES: Final = (
    # The database does not keep how long jobs have waited: by the oldest, this is so if none of them is claimed sooner.
    Rule(
        name="PacelineClaimLatency", severity="warning", value=lambda facts: facts.oldest, over=5, lasts=_minutes(5),
        summary="Jobs of pool {pool} wait too long for a runner",
        describe=lambda facts: f"For 5 minutes the oldest has waited too long to start, now for {span(facts.oldest)}.",
    ),
    Rule(
        name="PacelineQueueLag", severity="warning", value=lambda facts: facts.oldest, over=300, lasts=_minutes(5),
        summary="{group} does not keep up with its queue",
        describe=lambda facts: f"Its oldest job that could start has waited for {span(facts.oldest)}.",
    ),
    Rule(
        name="PacelineJobsUnclaimable", severity="warning", value=lambda facts: facts.unclaimable, lasts=_minutes(15),
        summary="Jobs wait that no runner of {group} can claim",
        describe=lambda facts: (
            f"{facts.unclaimable} jobs of its pool ask for a kind, tags or tolerations that no runner has. "
            "They drive no scaling, and wait for ever."
        ),
    ),
    Rule(
        name="PacelineDeadLetters", severity="warning", value=_dead, window=WINDOW,
        summary="Jobs of {group} are given up", describe=_describe_dead,
    ),
    Rule(
        name="PacelineGroupStuck", severity="warning", lasts=_minutes(15),
        value=lambda facts: facts.wanted - facts.ready if facts.reachable else 0,
        summary="{group} does not get the runners that it shall have",
        describe=lambda facts: f"{facts.wanted - facts.ready} of them have not been ready for 15 minutes.",
    ),
    # Registrations that runners lose without an end of their pods are known to the runners alone.
    Rule(
        name="PacelineRunnersFlapping", severity="warning", value=lambda facts: facts.failed, over=2.5, window=WINDOW,
        summary="Runners of {group} come and go",
        describe=lambda facts: (
            f"{facts.failed} times in the last 15 minutes a pod failed, or a runner lost its registration."
        ),
    ),
    Rule(
        name="PacelineGroupWithoutLeader", severity="critical", lasts=_minutes(2),
        value=lambda facts: facts.wanted if facts.leaderless else 0,
        summary="Nobody leads {group}",
        describe=lambda facts: (
            f"The group shall have {facts.wanted} runners, none of which may lead, so nobody claims its jobs."
        ),
    ),
    Rule(
        name="PacelineRolloutStalled", severity="warning", value=lambda facts: facts.stalled, lasts=_minutes(10),
        summary="An update of {group} waits for a job",
        describe=lambda facts: (
            f"{facts.wanted - facts.updated} runners still have the old revision, "
            "and for 15 minutes one of them has not finished."
        ),
    ),
    Rule(
        name="PacelineRolledBack", severity="warning", value=lambda facts: bool(facts.given_up),
        summary="An update of {group} failed",
        describe=lambda facts: (
            f"Its new revision was tried and given up ({facts.given_up}); that stands until the template changes."
        ),
    ),
    Rule(
        name="PacelineDatabaseAway", severity="critical", value=lambda facts: not facts.reachable, lasts=_minutes(1),
        summary="The database of {group} cannot be used",
        describe=lambda _: (
            "paceline_queue_reachable has been 0 for a minute. "
            "Its size is frozen, and runners with jobs give up within 27 seconds."
        ),
    ),
    Rule(
        name="PacelineVacuumHeld", severity="warning", value=lambda facts: facts.held, over=900, lasts=_minutes(5),
        summary="Dead rows pile up in the database of {group}",
        describe=lambda facts: f"Somebody has kept vacuum from removing them for {span(facts.held)}.",
    ),
)  # fmt: skip
BY_NAME: Final = {rule.name: rule for rule in RULES}
