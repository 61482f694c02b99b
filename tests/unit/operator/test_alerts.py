"""What a turn of a group's loop makes of the group's alerts, and what the webhooks are told of it."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from paceline.operating import GroupObserved
from paceline_operator.api.meta import Condition
from paceline_operator.api.v1alpha1 import AlertStatus, QueueStatus, RunnerGroupStatus
from paceline_operator.domain.alerts.notice import Ident, Notice
from paceline_operator.domain.plan import Plan, plan
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.report import Trouble, report_group
from paceline_operator.handlers.alerts import Alerts
from paceline_operator.handlers.services import Services
from unit.operator.test_scaler import NOTHING, observed
from unit.operator.world import START, World

BUILDS = ("ci", "builds")
AWAY = Trouble(queue=(Reason.UNREACHABLE, "no answer"))


@dataclass
class Receivers:
    """All of them, who take at once what they are told, or not at all."""

    heard: list[Notice] = field(default_factory=list)
    there: bool = True
    now: datetime = START
    taken: dict[Ident, datetime] = field(default_factory=dict)

    def tell(self, notice: Notice) -> None:
        if self.there and notice.ident not in self.taken:
            self.heard.append(notice)
            self.taken[notice.ident] = self.now

    def told(self, notice: Notice) -> datetime | None:
        return self.taken.get(notice.ident)


def services(webhooks: Receivers | None) -> Services:
    return cast("Services", SimpleNamespace(webhooks=webhooks, install="here"))


class Turns:
    """Of one group, whose two runners are ready unless something else is said."""

    def __init__(self, **spec: Any) -> None:
        self.world = World(replicas=2, spec=spec)
        self.world.settle()
        self.receivers = Receivers()
        self.alerts = Alerts(BUILDS, services(self.receivers))

    def turn(
        self, minutes: float = 0, seen: GroupObserved | None = NOTHING, trouble: Trouble | None = None,
        held: float = 0.0, said: Condition | None = None, made: Plan | None = None, deleted: bool = False,
    ) -> list[str]:  # fmt: skip
        """The names of the alerts that are in the status after a look so many minutes after the one before."""
        self.world.now += timedelta(minutes=minutes)
        self.receivers.now = self.world.now
        look = self.world.look()
        if deleted:
            meta = look.group.metadata.model_copy(update={"deletion_timestamp": self.world.now})
            look = replace(look, group=look.group.model_copy(update={"metadata": meta}))
        made = made or plan(look, self.world.memory)
        status = report_group(look, made, trouble or Trouble())
        if said is not None:
            status = status.model_copy(update={"conditions": (*status.conditions, said)})
        self.world.status = self.alerts.follow(look, made, status, seen, held)
        return [each.name for each in self.world.status.alerts or ()]


def progressing(reason: Reason) -> Condition:
    return Condition(type="Progressing", status="False", reason=reason, message="", last_transition_time=START)


@pytest.mark.parametrize(
    ("look", "begins"),
    [
        ({}, []),
        ({"seen": observed(oldest_seconds=6.0)}, ["PacelineClaimLatency"]),
        ({"seen": observed(oldest_seconds=301.0)}, ["PacelineClaimLatency", "PacelineQueueLag"]),
        ({"seen": observed(unclaimable=1)}, ["PacelineJobsUnclaimable"]),
        ({"seen": observed(dead=5000)}, ["PacelineDeadLetters"]),
        ({"seen": None, "trouble": AWAY}, ["PacelineDatabaseAway"]),
        ({"held": 901.0}, ["PacelineVacuumHeld"]),
        ({"said": progressing(Reason.ROLLOUT_STALLED)}, ["PacelineRolloutStalled"]),
        ({"said": progressing(Reason.ROLLED_BACK)}, ["PacelineRolledBack"]),
        ({"said": progressing(Reason.ROLLOUT_STOPPED)}, ["PacelineRolledBack"]),
        ({"said": progressing(Reason.CANNOT_START)}, []),
    ],
    ids=lambda part: ",".join(part) if isinstance(part, list) else "",
)
def test_what_is_seen_begins_its_alert_and_no_other(look: dict[str, Any], begins: list[str]) -> None:
    assert Turns().turn(**look) == begins


def test_runners_that_are_not_ready_begin_one() -> None:
    turns = Turns()
    turns.world.replicas = 3
    assert turns.turn() == ["PacelineGroupStuck"]
    assert turns.turn(seen=None, trouble=AWAY) == ["PacelineDatabaseAway"], "nobody knows who is ready"


def test_a_group_that_nobody_leads_begins_one() -> None:
    assert Turns(dispatch="Leader").turn() == ["PacelineGroupWithoutLeader"]


def test_three_pods_that_fail_are_too_many_and_each_counts_once() -> None:
    turns = Turns()
    made = plan(turns.world.look(), turns.world.memory)

    def failed(*pods: str) -> Plan:
        return replace(made, memory=replace(made.memory, counted=frozenset(pods)))

    assert turns.turn(made=failed("a", "b")) == []
    assert turns.turn(1, made=failed("a", "b")) == []
    assert turns.turn(1, made=failed("b", "c")) == ["PacelineRunnersFlapping"]


def test_dead_letters_that_arrive_begin_one_also_while_no_operator_was_there() -> None:
    turns = Turns()
    assert turns.turn(seen=observed(dead=2)) == []
    assert turns.turn(1, seen=observed(dead=3)) == ["PacelineDeadLetters"]
    other = Turns()
    other.world.status = RunnerGroupStatus(queue=QueueStatus(dead=2))
    assert other.turn(seen=observed(dead=3)) == ["PacelineDeadLetters"]


def test_while_the_database_is_away_what_it_said_last_stands() -> None:
    turns = Turns()
    turns.turn(seen=observed(unclaimable=1))
    assert turns.turn(1, seen=None, trouble=AWAY) == ["PacelineJobsUnclaimable", "PacelineDatabaseAway"]
    assert turns.turn(1) == []


def test_it_is_told_when_it_is_stored_and_when_it_is_over() -> None:
    turns = Turns()
    wrong, began = observed(unclaimable=3), turns.world.now
    turns.turn(seen=wrong)
    turns.turn(15, seen=wrong)
    assert turns.receivers.heard == [], "it fires, and that has just been written"
    for _ in range(3):
        turns.turn(seen=wrong)
    (told,) = turns.receivers.heard
    assert (told.status, told.starts_at, told.labels["install"]) == ("firing", began, "here")
    assert told.summary == "Jobs wait that no runner of ci/builds can claim"
    assert turns.turn(1) == ["PacelineJobsUnclaimable"]
    assert turns.turn() == ["PacelineJobsUnclaimable"]
    assert turns.turn() == []
    assert [each.status for each in turns.receivers.heard] == ["firing", "resolved"]


def test_an_operator_that_takes_over_tells_nothing_again() -> None:
    turns = Turns()
    for minutes in (0, 15, 0, 0):
        turns.turn(minutes, seen=observed(unclaimable=3))
    turns.receivers = Receivers()
    turns.alerts = Alerts(BUILDS, services(turns.receivers))
    for _ in range(3):
        assert turns.turn(1, seen=observed(unclaimable=3)) == ["PacelineJobsUnclaimable"]
    assert turns.receivers.heard == []


def test_what_one_operator_could_not_tell_the_next_one_does() -> None:
    turns = Turns()
    turns.receivers.there = False
    began = turns.world.now
    for minutes in (0, 15, 0, 0):
        turns.turn(minutes, seen=observed(unclaimable=3))
    turns.receivers = Receivers()
    turns.alerts = Alerts(BUILDS, services(turns.receivers))
    turns.turn(1, seen=observed(unclaimable=3))
    assert [each.starts_at for each in turns.receivers.heard] == [began]


def test_with_a_group_that_is_deleted_its_alerts_end() -> None:
    turns = Turns()
    for minutes in (0, 15, 0, 0):
        turns.turn(minutes, seen=observed(unclaimable=3))
    for _ in range(2):
        turns.turn(seen=observed(unclaimable=3), deleted=True)
    assert [each.status for each in turns.receivers.heard] == ["firing", "resolved"]


def test_an_alert_of_another_version_does_no_harm() -> None:
    turns = Turns()
    newer = AlertStatus(name="PacelineFromTheFuture", since=START, message="x")
    turns.world.status = RunnerGroupStatus(alerts=(newer,))
    assert turns.turn() == []


def test_without_a_webhook_no_alert_is_looked_at_and_old_ones_go() -> None:
    turns = Turns()
    assert turns.turn(seen=observed(unclaimable=3)) != []
    turns.alerts = Alerts(BUILDS, services(None))
    assert turns.turn(seen=observed(unclaimable=3)) == []
    assert turns.world.status.alerts is None
