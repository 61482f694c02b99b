"""How long vacuum has been held back: by whoever has done so for longest, also one that does not say since when."""

from paceline.seen import Holder
from paceline_operator.domain.held import Held


def session(pid: int, age: float | None) -> Holder:
    return Holder(holder="session", name=str(pid), transactions=5, age_seconds=age)


SLOT = Holder(holder="slot", name="replica", transactions=5)


def test_nobody_holds_it() -> None:
    held = Held()
    assert held.seconds(100) == 0
    held.note([], 100)
    assert held.seconds(160) == 0


def test_the_longest_counts_and_goes_on_counting() -> None:
    held = Held()
    held.note([session(1, 30), session(2, 500), session(3, 20)], 1000)
    assert held.seconds(1000) == 500
    assert held.seconds(1060) == 560


def test_a_session_that_begins_anew_counts_from_then() -> None:
    held = Held()
    held.note([session(1, 500)], 1000)
    held.note([session(1, 12)], 1060)
    assert held.seconds(1060) == 12


def test_one_that_does_not_say_since_when_counts_from_when_it_was_first_seen() -> None:
    held = Held()
    held.note([SLOT], 1000)
    assert held.seconds(1000) == 0
    held.note([SLOT, session(1, 10)], 1060)
    held.note([SLOT], 1120)
    assert held.seconds(1120) == 120


def test_one_that_lets_go_is_forgotten() -> None:
    held = Held()
    held.note([SLOT], 1000)
    held.note([], 1060)
    assert held.seconds(1060) == 0
    held.note([SLOT], 1120)
    assert held.seconds(1120) == 0
