"""Who counts as failed, and how long it waits."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from paceline_operator.domain.failures import Failures, Memory, Unborn, count_ends, describe, is_failure
from unit.operator.world import START, pod


@pytest.mark.parametrize(("count", "seconds"), [(1, 0), (2, 1), (3, 2), (4, 4), (10, 256), (11, 300), (10_000, 300)])
def test_the_wait_doubles_up_to_five_minutes(count: int, seconds: int) -> None:
    assert Failures(count, START).wait_until() == START + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({}, False),
        ({"exit_code": 0}, False),
        ({"exit_code": 70}, False),
        ({"exit_code": 1}, True),
        ({"exit_code": 137, "end_reason": "OOMKilled"}, True),
        ({"exit_code": 137, "end_reason": "Evicted"}, False),
        ({"exit_code": 143, "disrupted": "EvictionByEvictionAPI"}, False),
        ({"exit_code": 143, "deleting": True}, False),
    ],
)
def test_what_others_did_to_it_is_no_failure(changes: dict[str, object], failed: bool) -> None:
    assert is_failure(pod("a", **changes)) is failed


def test_each_end_is_counted_once_and_forgotten_with_its_pod() -> None:
    dead = pod("a", exit_code=1)
    first = count_ends(Memory(), [dead], frozenset(), START)
    assert first.failures["a"].count == 1
    assert count_ends(first, [dead], frozenset(), START).failures["a"].count == 1
    second = count_ends(first, [dead, pod("a", 2, exit_code=1)], frozenset(), START)
    assert (second.failures["a"].count, second.unborn["rev"].count) == (2, 2)
    assert count_ends(second, [], frozenset(), START).failures == {}


def test_one_that_lived_long_begins_to_count_anew() -> None:
    memory = Memory(failures={"a": Failures(5, START)})
    late = START + timedelta(minutes=10)
    assert count_ends(memory, [pod("a", exit_code=1)], frozenset(), late).failures["a"].count == 1
    early = late - timedelta(seconds=1)
    assert count_ends(memory, [pod("a", exit_code=1)], frozenset(), early).failures["a"].count == 6


def test_who_had_registered_was_born() -> None:
    dead = pod("a", exit_code=1)
    counted = count_ends(Memory(), [dead], frozenset({dead.uid}), START)
    assert (counted.unborn, counted.failures["a"].count) == ({}, 1)


def test_one_that_was_given_up_and_then_ends_is_counted_once() -> None:
    slow = pod("a")
    first = count_ends(Memory(), [slow], frozenset(), START, [slow])
    assert first.unborn["rev"].count == 1
    gone = pod("a", deleting=True, exit_code=137)
    assert count_ends(first, [gone], frozenset(), START).unborn["rev"].count == 1


def test_a_clock_that_went_back_makes_nobody_wait_for_it_to_come_again() -> None:
    dead, hour = pod("a", exit_code=1), timedelta(hours=1)
    ahead = Memory(failures={"a": Failures(3, START + hour)}, unborn={"rev": Unborn(5, START + hour)})
    found = count_ends(replace(ahead, counted=frozenset({dead.uid})), [dead], frozenset(), START)
    assert found.failures["a"] == Failures(3, START)
    assert found.trial_at("rev") == START + timedelta(seconds=4)
    later = count_ends(found, [dead], frozenset(), START + timedelta(seconds=1))
    assert later.failures["a"].last == START, "what has been is not moved"


def test_care_begins_with_the_third() -> None:
    def trial_at(count: int) -> datetime | None:
        return Memory(unborn={"rev": Unborn(count, START)}).trial_at("rev")

    assert trial_at(2) is None
    assert trial_at(3) == START + timedelta(seconds=1)
    assert trial_at(5) == START + timedelta(seconds=4)
    assert Memory(unborn={"rev": Unborn(9, START)}).trial_at("other") is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exit_code": 3, "end_reason": "Error", "end_message": "no config\n"}, "exit code 3 (Error: no config)"),
        ({"exit_code": -1, "end_reason": "Evicted"}, "it ended (Evicted)"),
        ({"stuck": "ErrImagePull: no"}, "ErrImagePull: no"),
        ({}, "it did not register in time"),
    ],
)
def test_a_failed_pod_is_quoted(changes: dict[str, object], words: str) -> None:
    assert describe(pod("a", **changes)) == f"pod a-1: {words}"
