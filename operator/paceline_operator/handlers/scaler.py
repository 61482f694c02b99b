"""A group's size, decided anew with every look at its queue; decisions are kept in the database, with their reasons."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from paceline.operating import GroupObserved
from paceline.scaling import DecisionSeen, ScalingKept
from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.scaling.decide import Decision, decide, decide_blind, record_change
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.signals import Signals
from paceline_operator.domain.scaling.told import DemandTold, tell_demand

QUIET: Final = timedelta(seconds=30)
"""So long the same size by another rule waits before it is kept: between two rules it may go to and fro."""
SAVE_AFTER: Final = timedelta(seconds=60)
"""So old at most what is kept of a history may be, as long as it says something."""
DEEPEST: Final = 200_000
"""More waiting jobs than these are not counted, whatever the size may be."""


class Scaler:
    """For one group."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.decision: Decision | None = None
        """The last one; None while nobody scales the group by its queue."""
        self._group: RunnerGroup | None = None
        self._current = 0
        self._history = History()
        self._kept: Decision | None = None
        self._unkept: list[DecisionSeen] = []
        self._saved: tuple[datetime, object] | None = None
        """When, and what."""

    @property
    def spec(self) -> Autoscaling | None:
        """What the group says about it, unless that is Off."""
        found = self._group.spec.autoscaling if self._group else None
        return None if found is None or found.mode == "Off" else found

    @property
    def asleep(self) -> bool:
        """There is no runner, and work shall be heard of at once."""
        return self._internal and self._current == 0

    @property
    def depth(self) -> int:
        """How many waiting jobs have to be counted to know the size."""
        spec = self.spec
        return min(DEEPEST, spec.max_replicas * self._group.spec.slots) if spec and self._group else 0

    @property
    def _internal(self) -> bool:
        return self.spec is not None and self.spec.mode == "Internal"

    @property
    def _keeps(self) -> bool:
        """Whether decisions are for the database: where another one scales, ours say nothing."""
        return self.spec is not None and self.spec.mode != "External"

    def remember(self, state: Mapping[str, Any], now: datetime) -> None:
        """Go on from what an operator before us has kept; what it last recommended holds until now."""
        found = History.from_json(state).as_of(now)
        if found.recommendations:
            found = found.recommended(found.recommendations[-1].replicas, now)
        self._history = found

    def turn(
        self, group: RunnerGroup, current: int, observed: GroupObserved | None, unread: datetime | None, now: datetime
    ) -> Decision | None:
        """The decision for a group that has `current` runners; `unread` is since when its queue cannot be read."""
        self._group, self._current = group, current
        spec = self.spec
        if spec is None:
            self.decision, self._history = None, History()
        elif unread is not None:
            self._take(decide_blind(spec, current, unread, self._history, now))
        elif observed is not None:
            self._consider(observed, now)
        return self.decision

    def news(self, observed: GroupObserved, now: datetime) -> bool:
        """The queue was looked at; whether the size is another one now, so that the loop has something to do."""
        before = self.decision
        if before is None:
            return False
        self._consider(observed, now)
        return self._internal and self.decision is not None and self.decision.replicas != before.replicas

    def tell(self, read: datetime | None, now: datetime) -> DemandTold:
        """For others who scale the group; `read` is when its queue was. NoDemandError: nobody knows."""
        return tell_demand(self._group, self.decision, read, now)

    def carried_out(self, change: int, now: datetime) -> None:
        """So many runners have come (or gone: negative) by our decision."""
        self._history = record_change(self._history, 0, change, now)

    def unsaved(self, number: int, now: datetime) -> ScalingKept | None:
        """What the database should keep, if that is anything new."""
        if not self._keeps:
            return None
        past = self._history
        stale = self._saved is not None and now - self._saved[0] >= SAVE_AFTER and len(past.recommendations) > 1
        if self._saved is not None and self._saved[1] == _gist(past) and not stale and not self._unkept:
            return None
        return ScalingKept(grp=number, state=past.as_json(), decisions=tuple(self._unkept))

    def saved(self, kept: ScalingKept, now: datetime) -> None:
        """The database has it."""
        self._unkept = self._unkept[len(kept.decisions) :]
        self._saved = now, _gist(self._history)

    def _consider(self, observed: GroupObserved, now: datetime) -> None:
        spec = self.spec
        if spec is None or self._group is None or observed.paused:
            return
        signals = Signals(
            ready=observed.share,
            running=max(0, observed.running - observed.elsewhere),
            oldest_seconds=observed.oldest_seconds,
            arrival_rate=observed.arrival_rate,
            service_seconds=observed.service_seconds,
            tainted=observed.tainted,
            tainted_running=observed.tainted_running,
            tolerating=observed.tolerating,
        )
        self._take(decide(spec, self._group.spec.slots, self._current, signals, self._history, now))

    def _take(self, decision: Decision) -> None:
        self.decision, self._history = decision, decision.history
        if not self._keeps:
            return
        old = self._kept
        if old is not None and old.replicas == decision.replicas:
            by_another = (old.reason, old.limited_by) != (decision.reason, decision.limited_by)
            if not by_another or decision.at - old.at < QUIET:
                return
        self._unkept.append(_as_kept(decision, was=old.replicas if old else self._current))
        self._kept = decision


def _as_kept(decision: Decision, was: int) -> DecisionSeen:
    return DecisionSeen(
        at=decision.at,
        was=was,
        replicas=decision.replicas,
        reason=decision.reason,
        limited_by=decision.limited_by,
        inputs=decision.inputs,
        proposals=[asdict(each) for each in decision.proposals],
    )


def _gist(history: History) -> object:
    """All but how long the last recommendation has held."""
    return tuple((each.since, each.replicas) for each in history.recommendations), history.changes
