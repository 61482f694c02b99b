"""What `paceline rollout` makes of a group, and of its revisions."""

import pytest

from paceline.errors import NotFoundError
from paceline_cli.rollout import _choose, _state, merge
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.revision import RevisionSeen, made_of, name_of, revision_of

ONE = RevisionSeen(name="one", number=1)
TWO = RevisionSeen(name="two", number=2)
THREE = RevisionSeen(name="three", number=3)
KEPT = [THREE, TWO, ONE]


def group(**status: object) -> RunnerGroup:
    spec = {"database": {"secretRef": {"name": "db"}}, "template": {"spec": {"containers": [{"name": "runner"}]}}}
    return RunnerGroup.model_validate(
        {"metadata": {"name": "builds", "namespace": "ci"}, "spec": spec, "status": status}
    )


@pytest.mark.parametrize(
    ("have", "want", "patch"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, {"b": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": None}}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
        ({"a": 1}, {"a": 1, "b": {"c": 1}}, {"b": {"c": 1}}),
        ({"a": 1}, None, None),
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 1}, {}),
    ],
)
def test_a_merge_patch_also_takes_away(have: object, want: object, patch: object) -> None:
    assert merge(have, want) == patch


def test_undo_goes_to_what_runners_have_or_to_the_one_before() -> None:
    assert _choose(KEPT, group(currentRevision="three"), "three", None) == TWO
    assert _choose(KEPT, group(currentRevision="one"), "three", None) == ONE, "it was rolled back to that one"
    assert _choose(KEPT, group(currentRevision="three"), "three", 1) == ONE
    with pytest.raises(NotFoundError, match="no revision 9"):
        _choose(KEPT, group(), "three", 9)
    with pytest.raises(NotFoundError, match="no earlier revision"):
        _choose([THREE], group(), "three", None)


def test_how_far_it_is() -> None:
    wanted = revision_of(group())
    assert _state(group())[0] == "rolling", "the operator has not looked yet"
    assert _state(group(updateRevision=wanted, currentRevision="old"))[0] == "rolling"
    assert _state(group(updateRevision=wanted, currentRevision="old", failedRevision=wanted))[0] == "failed"
    done = _state(group(updateRevision=wanted, currentRevision=wanted, updatedReplicas=3))
    assert done == ("done", f"all runners have revision {wanted}")


def test_a_revision_is_named_by_what_it_is_made_of() -> None:
    made = made_of(group())
    assert name_of(made) == revision_of(group())
    assert "restartedAt" not in made, "a group that nobody restarted keeps the name that it had before"
