"""However an alert comes and goes, whoever loses what: those who are told end up with the truth, and hear it once."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from paceline_operator.api.status import AlertStatus
from paceline_operator.domain.alerts.facts import Facts
from paceline_operator.domain.alerts.follow import Alerts, due, follow, hear, notice_of
from paceline_operator.domain.alerts.notice import Ident, Notice

START = datetime(2026, 11, 17, 12, tzinfo=UTC)
OLDEST = {"wrong": 400.0, "well": 0.0, "unknown": None}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["wrong", "well", "wrong", "well", "unknown"]), st.sampled_from([6, 6, 1]), st.booleans(),
        st.sampled_from(["", "", "", "conflict", "restart"]),
    ),
    max_size=12,
)  # fmt: skip
"""How it is, for how many looks (after six what is wrong is told), whether what waits is taken, and what fails."""
Steps = list[tuple[str, int, bool, str]]


def notice(alert: AlertStatus) -> Notice:
    return notice_of(alert, "ci", "builds", "builds", "here")


@dataclass
class Story:
    """One group, its operator and one receiver."""

    now: datetime = START
    stored: Alerts = ()
    facts: Facts = field(default_factory=lambda: Facts(oldest=0))
    waiting: dict[str, Notice] = field(default_factory=dict)
    settled: dict[Ident, datetime] = field(default_factory=dict)
    heard: list[Notice] = field(default_factory=list)
    restarts: int = 0

    def look(self, *, stores: bool = True) -> None:
        self.now += timedelta(minutes=1)
        known = hear(self.stored, lambda each: self.settled.get(notice(each).ident))
        new = follow(known, self.facts, self.now)
        for each in due(self.stored, new, self.now):
            if notice(each).ident not in self.settled:
                self.waiting[each.name] = notice(each)
        if stores:
            self.stored = new

    def take(self) -> None:
        """The receiver takes what waits."""
        self.heard += self.waiting.values()
        self.settled |= {each.ident: self.now for each in self.waiting.values()}
        self.waiting = {}

    def happen(self, how: str, looks: int, taken: bool, fails: str) -> None:
        self.facts = Facts(oldest=OLDEST[how])
        if fails == "restart":
            self.waiting, self.settled = {}, {}
            self.restarts += 1
        for _ in range(looks):
            self.look(stores=fails != "conflict")
        if taken:
            self.take()
            self.look()


@settings(max_examples=300, deadline=None)
@given(STEPS, st.booleans())
def test_in_the_end_the_receiver_knows_how_it_is(steps: Steps, wrong: bool) -> None:
    story = Story()
    for step in steps:
        story.happen(*step)
    story.facts = Facts(oldest=4000.0 if wrong else 0.0)
    for _ in range(20):
        story.look()
        story.take()
    last = {each.name: each.status for each in story.heard}
    if wrong:
        assert last["PacelineQueueLag"] == last["PacelineClaimLatency"] == "firing"
    else:
        assert "firing" not in last.values()
        assert story.stored == ()


@settings(deadline=None)
@given(STEPS)
def test_nothing_is_told_twice_but_by_another_operator(steps: Steps) -> None:
    story = Story()
    for step in steps:
        story.happen(*step)
    twice = Counter((each.fingerprint, each.status, each.starts_at, each.told_at) for each in story.heard)
    assert max(twice.values(), default=0) <= 1 + story.restarts
