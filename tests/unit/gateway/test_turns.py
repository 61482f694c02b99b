"""Who is asked for first when there is work, and when those who got nothing are sent away."""

from itertools import chain, pairwise

import pytest

from paceline.claims import IncarnationId
from paceline.dialled import Connection
from paceline_gateway.runners.hub import FEW, Guest, portions
from paceline_gateway.runners.poll import SHORTEST_HOLD, held_for

SLOTS = 10


def guest(number: int, want: int) -> Guest:
    return Guest(
        Connection(IncarnationId(number)), 1, SLOTS, print, print, print, want
    )  # fmt: skip


def test_everybody_is_asked_for_once_and_the_least_loaded_first() -> None:
    for free in (0, FEW - 1, FEW, 3 * FEW):
        guests = [guest(number, 1 + number % SLOTS if number >= free else SLOTS) for number in range(700)]
        few, *others = portions(guests)
        asked = list(chain(few, *others))
        assert len(asked) == len(set(asked)) == len(guests)
        assert len(few) == FEW
        loads = [each.load for each in chain(*others)]
        assert loads == sorted(loads)
        assert max(each.load for each in few) <= loads[0]


def test_a_few_who_wait_are_all_among_the_first_and_of_nobody_there_is_no_portion() -> None:
    (few,) = portions([guest(1, 2), guest(2, SLOTS)])
    assert [each.want for each in few] == [SLOTS, 2]
    assert list(portions([])) == []


@pytest.mark.parametrize("busy", [0, 4 * FEW])
def test_among_equals_chance_decides(busy: int) -> None:
    free = [guest(number, SLOTS) for number in range(2 * FEW)]
    others = [guest(number, 1) for number in range(2 * FEW, 2 * FEW + busy)]
    asked = {each for _ in range(60) for each in next(portions([*free, *others]))}  # a chance of 1 in 10**16
    assert asked == set(free)


def test_whoever_wants_nothing_is_asked_for_never() -> None:
    guests = [guest(number, number % 2) for number in range(4 * FEW)]
    assert {each.want for each in chain(*portions(guests))} == {1}


def test_polls_that_came_together_do_not_come_back_together() -> None:
    held = sorted(held_for(30) for _ in range(1_000))
    assert SHORTEST_HOLD * 30 <= held[0] <= held[-1] <= 30
    assert max(after - before for before, after in pairwise(held)) < 1
    assert held_for(0) == 0
