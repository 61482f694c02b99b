"""Which alerts begin, fire, end and are told, look by look, with nothing but the group's status to remember it."""

from datetime import UTC, datetime, timedelta

import pytest

from paceline_operator.api.status import AlertStatus
from paceline_operator.domain.alerts.facts import WINDOW, Facts, Recent
from paceline_operator.domain.alerts.follow import AGAIN_AFTER, Alerts, due, follow, hear, notice_of
from paceline_operator.domain.alerts.rules import BY_NAME, span

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
STUCK = Facts(wanted=2, ready=1, oldest=0, unclaimable=0, dead=0, arrived=0, held=0)
WELL = Facts(wanted=2, ready=2, oldest=0, unclaimable=0, dead=0, arrived=0, held=0)
UNKNOWN = Facts(wanted=2, ready=2)


def after(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def named(alerts: Alerts) -> list[str]:
    return [each.name for each in alerts]


@pytest.fixture
def fired() -> Alerts:
    """A group that has been stuck for a quarter of an hour."""
    return follow(follow((), STUCK, NOW), STUCK, after(15))


def told(alerts: Alerts, at: datetime) -> Alerts:
    return hear(alerts, lambda _: at)


def test_it_fires_when_it_has_lasted_and_not_before() -> None:
    begun = follow((), STUCK, NOW)
    assert [(each.name, each.since, each.message) for each in begun] == [("PacelineGroupStuck", NOW, None)]
    assert follow(begun, STUCK, after(14.9)) == begun
    (now,) = follow(begun, STUCK, after(15))
    assert (now.since, now.message) == (NOW, "1 of them have not been ready for 15 minutes.")


def test_what_is_over_before_it_has_lasted_was_nothing() -> None:
    assert follow(follow((), STUCK, NOW), WELL, after(14)) == ()


def test_what_was_seen_when_it_began_stays(fired: Alerts) -> None:
    assert follow(fired, Facts(wanted=9, ready=0), after(16)) == fired


def test_an_end_is_kept_until_it_is_told(fired: Alerts) -> None:
    (over,) = follow(fired, WELL, after(20))
    assert over.ended_at == after(20)
    assert follow((over,), WELL, after(21)) == (over,)
    assert hear((over,), lambda _: None) == (over,)
    assert told((over,), after(22)) == ()


def test_what_begins_anew_before_its_end_was_told_is_told_as_new(fired: Alerts) -> None:
    over = follow(told(fired, after(16)), WELL, after(20))
    (again,) = follow(over, STUCK, after(21))
    assert (again.since, again.told_at, again.ended_at) == (after(21), None, None)
    assert list(due((again,), (again,), after(21))) == [again]


def test_while_nobody_knows_all_stays_as_it_is() -> None:
    slow = Facts(oldest=400, unclaimable=3)
    fired = follow(follow((), slow, NOW), slow, after(15))
    assert named(fired) == ["PacelineClaimLatency", "PacelineQueueLag", "PacelineJobsUnclaimable"]
    assert follow(fired, UNKNOWN, after(20)) == fired
    begun = follow((), slow, NOW)
    assert follow(begun, UNKNOWN, after(20)) == begun, "and what nobody sees does not begin to fire"
    assert all(each.ended_at for each in follow(fired, WELL, after(21)))


def test_who_has_just_begun_to_watch_ends_nothing_that_is_about_the_time_before() -> None:
    flapping, calm = Facts(failed=3), Facts(failed=0, arrived=0, watched=WINDOW - timedelta(seconds=1))
    fired = follow((), flapping, NOW)
    assert named(fired) == ["PacelineRunnersFlapping"]
    assert follow(fired, calm, after(1)) == fired
    (over,) = follow(fired, Facts(failed=0, watched=WINDOW), after(15))
    assert over.ended_at == after(15)


def test_with_the_group_all_of_its_alerts_end(fired: Alerts) -> None:
    begun = follow(fired, Facts(wanted=2, ready=1, stalled=True), after(16))
    (over,) = follow(begun, None, after(17))
    assert (over.name, over.ended_at) == ("PacelineGroupStuck", after(17))


def test_only_what_is_stored_is_told(fired: Alerts) -> None:
    begun = follow((), STUCK, NOW)
    assert list(due((), begun, NOW)) == []
    assert list(due(begun, begun, NOW)) == [], "it does not fire yet"
    assert list(due(begun, fired, after(15))) == [], "the API server has not taken it yet, or never will"
    assert list(due(fired, fired, after(15))) == list(fired)


def test_what_lasts_is_told_again_after_four_hours_and_not_before(fired: Alerts) -> None:
    known = told(fired, after(16))
    assert [each.told_at for each in known] == [after(16)]
    assert list(due(known, known, after(16) + AGAIN_AFTER - timedelta(seconds=1))) == []
    assert list(due(known, known, after(16) + AGAIN_AFTER)) == list(known)


def test_each_time_that_it_is_told_is_another_notice(fired: Alerts) -> None:
    def ident(alerts: Alerts) -> object:
        return notice_of(alerts[0], "ci", "builds", "builds", "here").ident

    known = told(fired, after(16))
    over = follow(known, WELL, after(20))
    assert len({ident(each) for each in (fired, known, told(known, after(300)), over)}) == 4


def test_moments_are_those_that_the_api_server_gives_back() -> None:
    precise = NOW.replace(microsecond=700_000)
    for facts in (STUCK, Facts(failed=3)):
        assert all(AlertStatus.model_validate(each.model_dump()) == each for each in follow((), facts, precise))
    fired = told(follow((), Facts(failed=3), precise), precise)
    over = follow(fired, Facts(), precise)
    assert [(each.told_at, each.ended_at) for each in over] == [(NOW, NOW)]


def test_dead_letters_count_against_the_fewest_of_the_last_quarter_of_an_hour() -> None:
    recent = Recent(4, NOW)
    for minute, dead, more in ((1, 6, 2), (5, 3, 0), (10, 5, 2), (19, 5, 2), (20, 5, 0), (40, None, None), (41, 7, 2)):
        recent.note(dead, 0, after(minute))
        assert recent.arrived(dead) == more, minute


def test_the_first_look_of_an_operator_counts_against_what_the_last_one_wrote() -> None:
    recent = Recent(4, NOW)
    recent.note(7, 0, NOW)
    assert recent.arrived(7) == 3
    assert Recent(None, NOW).arrived(7) is None


def test_pods_that_failed_count_for_a_quarter_of_an_hour() -> None:
    recent = Recent(None, NOW)
    recent.note(None, 1, NOW)
    recent.note(None, 2, after(5))
    recent.note(None, 0, after(14.9))
    assert recent.failed == 3
    recent.note(None, 0, after(15))
    assert recent.failed == 2
    assert recent.watched(after(15)) == WINDOW


def test_a_time_is_written_for_people() -> None:
    assert [span(each) for each in (None, 0, 59.9, 60, 3601, 90061)] == [
        "0s", "0s", "59s", "1m 0s", "1h 0m 1s", "1d 1h 1m 1s",
    ]  # fmt: skip


def test_every_rule_says_what_it_saw() -> None:
    facts = Facts(oldest=400, unclaimable=3, dead=2, arrived=2, held=1000, failed=3, given_up="RolledBack")
    for rule in BY_NAME.values():
        assert rule.describe(facts).endswith(".")
        assert "{" not in rule.summary.format(group="ci/builds", pool="builds")
