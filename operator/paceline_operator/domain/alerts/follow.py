"""From one look at a group to the next: which alerts begin, fire, end and are to be told.

All that has to be remembered is in the group's status, so that the next operator goes on from it. Only what has been
read back from there is told: what could not be stored would be new with every look.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from paceline_operator.api.status import AlertStatus
from paceline_operator.domain.alerts.facts import Facts
from paceline_operator.domain.alerts.notice import Notice
from paceline_operator.domain.alerts.rules import BY_NAME, RULES, Rule

AGAIN_AFTER: Final = timedelta(hours=4)
"""So often an alert that lasts is told again: twice in a working day."""

Alerts = tuple[AlertStatus, ...]


def follow(old: Iterable[AlertStatus], facts: Facts | None, now: datetime) -> Alerts:
    """The alerts of a group as they are now; without facts the group goes, and all of them end."""
    before = {each.name: each for each in old}
    moment = now.replace(microsecond=0)  # as it is stored
    found = (_one(rule, before.get(rule.name), rule.holds(facts) if facts else False, facts, moment) for rule in RULES)
    return tuple(each for each in found if each is not None)


def _one(
    rule: Rule, old: AlertStatus | None, holds: bool | None, facts: Facts | None, now: datetime
) -> AlertStatus | None:
    if old is None:
        if not holds:
            return None
        old = AlertStatus(name=rule.name, since=now)
    elif old.ended_at is not None:
        # nobody has heard yet that it is over: it begins anew, and that is told instead
        return old.model_copy(update={"since": now, "told_at": None, "ended_at": None}) if holds else old
    elif holds is False:
        return None if old.message is None else old.model_copy(update={"ended_at": now})
    if holds and facts is not None and old.message is None and now - old.since >= rule.lasts:
        return old.model_copy(update={"message": rule.describe(facts)})
    return old


def hear(old: Iterable[AlertStatus], told: Callable[[AlertStatus], datetime | None]) -> Alerts:
    """Note what has been told, by the moment that `told` gives; an end that has been told is forgotten."""
    known = (each for each in old if each.name in BY_NAME)  # a newer operator may have told of others
    return tuple(heard for each in known if (heard := _heard(each, told(each))) is not None)


def _heard(alert: AlertStatus, at: datetime | None) -> AlertStatus | None:
    if at is None:
        return alert
    return alert.model_copy(update={"told_at": at.replace(microsecond=0)}) if alert.ended_at is None else None


def due(old: Iterable[AlertStatus], new: Iterable[AlertStatus], now: datetime) -> Iterator[AlertStatus]:
    """Those that are to be told now."""
    stored = list(old)
    for each in new:
        again = each.ended_at is not None or each.told_at is None or now - each.told_at >= AGAIN_AFTER
        if each.message is not None and again and each in stored:
            yield each


def notice_of(alert: AlertStatus, namespace: str, group: str, pool: str, install: str) -> Notice:
    """What receivers are told about it."""
    rule = BY_NAME[alert.name]
    return Notice(
        name=alert.name,
        labels={
            "alertname": alert.name, "group": group, "install": install, "namespace": namespace,
            "severity": rule.severity,
        },
        summary=rule.summary.format(group=f"{namespace}/{group}", pool=pool),
        description=alert.message or "",
        starts_at=alert.since,
        ends_at=alert.ended_at,
        told_at=alert.told_at,
    )  # fmt: skip
