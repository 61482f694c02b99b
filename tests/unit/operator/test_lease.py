"""When a Lease may be taken: by our own clock alone."""

import pytest

from paceline_operator.domain.lease import ADDRESS, DURATION, LONGEST, LeaseSeen, Patience, build_lease, read_lease


def lease(holder: str = "other", version: str = "1", duration: float = DURATION) -> LeaseSeen:
    return LeaseSeen(holder, duration, version, "u-1", transitions=4, acquired="2026-11-17T12:00:00.000000Z")


def test_one_that_is_not_there_or_has_no_holder_is_taken_at_once() -> None:
    assert Patience().may_take(None, "me", 0.0)
    assert Patience().may_take(lease(""), "me", 0.0)
    assert Patience().may_take(lease("me"), "me", 0.0)


def test_one_that_is_held_is_over_when_it_has_not_changed_for_as_long_as_it_says() -> None:
    patience = Patience()
    assert not patience.may_take(lease(), "me", 100.0)
    assert not patience.may_take(lease(), "me", 107.9)
    assert patience.may_take(lease(), "me", 108.0)


def test_each_change_begins_the_count_anew() -> None:
    patience = Patience()
    assert not patience.may_take(lease(version="1"), "me", 100.0)
    assert not patience.may_take(lease(version="2"), "me", 107.0)
    assert not patience.may_take(lease(version="2"), "me", 114.9)
    assert patience.may_take(lease(version="2"), "me", 115.0)


def test_one_that_was_deleted_under_its_holder_is_waited_for_too() -> None:
    patience = Patience()
    assert not patience.may_take(lease(), "me", 100.0)
    assert not patience.may_take(None, "me", 107.9)
    assert patience.may_take(None, "me", 108.0)


@pytest.mark.parametrize(
    ("spec", "holder", "duration"),
    [
        ({}, "", DURATION),
        ({"holderIdentity": None, "leaseDurationSeconds": None}, "", DURATION),
        ({"holderIdentity": "x", "leaseDurationSeconds": 0}, "x", DURATION),
        ({"holderIdentity": "x", "leaseDurationSeconds": 1_000_000}, "x", LONGEST),
        ({"holderIdentity": "x", "leaseDurationSeconds": 3}, "x", 3.0),
    ],
)
def test_one_that_was_written_by_hand_is_made_sense_of(spec: dict[str, object], holder: str, duration: float) -> None:
    seen = read_lease({"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": spec})
    assert (seen.holder, seen.duration, seen.version) == (holder, duration, "7")


def test_a_renewal_keeps_when_it_was_acquired_and_a_new_holder_counts() -> None:
    renewed = build_lease("ns", "l", "me", lease("me"), address="10.1.2.3:8081")
    said = {"annotations": {ADDRESS: "10.1.2.3:8081"}}
    assert renewed["metadata"] == {"name": "l", "namespace": "ns", "uid": "u-1", "resourceVersion": "1", **said}
    spec = renewed["spec"]
    assert isinstance(spec, dict)
    assert (spec["acquireTime"], spec["leaseTransitions"]) == ("2026-11-17T12:00:00.000000Z", 4)
    taken = build_lease("ns", "l", "me", lease("other"))["spec"]
    assert isinstance(taken, dict)
    assert (taken["leaseTransitions"], taken["acquireTime"]) == (5, taken["renewTime"])
    fresh = build_lease("ns", "l", "me", None)
    assert fresh["metadata"] == {"name": "l", "namespace": "ns", "annotations": {ADDRESS: ""}}


@pytest.mark.parametrize(
    ("annotations", "address"),
    [
        (None, ""),
        ({}, ""),
        ({ADDRESS: "10.1.2.3:8081"}, "10.1.2.3:8081"),
        ({ADDRESS: "[fd00::7]:8081"}, "[fd00::7]:8081"),
        ({ADDRESS: "10.1.2.3"}, ""),
        ({ADDRESS: "evil.example/path?:80"}, ""),
        ({ADDRESS: "me@evil.example:80"}, ""),
    ],
)
def test_where_its_holder_listens_is_read_from_it_unless_that_is_no_address(
    annotations: dict[str, str] | None, address: str
) -> None:
    meta = {"uid": "u", "resourceVersion": "7", "annotations": annotations}
    assert read_lease({"metadata": meta, "spec": {"holderIdentity": "x"}}).address == address
