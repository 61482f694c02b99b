"""What users may write about taints, and what is refused."""

import pytest

from paceline.taint import Taint
from paceline_operator.api.v1alpha1 import Runner
from paceline_operator.domain.names import DRAIN, TAINTS
from paceline_operator.domain.taints import MOST, declared, drain_in, read_declared
from unit.operator.world import group


def annotated(**annotations: str) -> Runner:
    meta = {"name": "a", "annotations": annotations}
    return Runner.model_validate({"metadata": meta, "spec": {"groupRef": {"name": "builds"}}})


def test_both_sources_are_kept_apart() -> None:
    spec = [{"key": "gpu", "value": "bad", "effect": "NoClaim"}]
    found = declared(group(1, {TAINTS: "gpu=bad:NoClaim, dev:NoLead"}, taints=spec))
    assert found.by_source == {
        "annotation": {Taint("gpu", "bad", "NoClaim"), Taint("dev", "", "NoLead")},
        "spec": {Taint("gpu", "bad", "NoClaim")},
    }
    assert not found.problem


def test_drain_is_short_for_a_taint() -> None:
    found = declared(annotated(**{DRAIN: "true"}))
    assert found.by_source["annotation"] == {Taint(DRAIN, "", "Drain")}
    assert found.drains
    assert not declared(annotated(**{DRAIN: "false"})).drains


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({TAINTS: "gpu=bad:NoClam"}, 'taint "gpu=bad:NoClam" has an unknown effect "NoClam"'),
        ({TAINTS: "gpu"}, 'taint "gpu" has no effect'),
        ({TAINTS: "=bad:NoClaim"}, '"" is no key'),
        ({TAINTS: "gpu=a:NoClaim,gpu=b:NoClaim"}, 'has both "gpu=a:NoClaim" and "gpu=b:NoClaim": keep one'),
        ({TAINTS: ",".join(f"t{n}:NoClaim" for n in range(MOST + 1))}, f"has {MOST + 1} taints: give at most {MOST}"),
        ({DRAIN: "yes"}, 'annotation paceline.dev/drain is "yes": use "true"'),
    ],
)
def test_what_cannot_be_read_is_quoted_and_leaves_its_source_alone(annotations: dict[str, str], words: str) -> None:
    found = declared(annotated(**annotations))
    assert words in found.problem
    assert set(found.by_source) == {"spec"}


def test_the_same_taint_twice_is_one() -> None:
    assert declared(annotated(**{TAINTS: "gpu:NoClaim,gpu:NoClaim"})).by_source["annotation"] == {
        Taint("gpu", "", "NoClaim")
    }


def test_what_the_database_has_is_read_by_source() -> None:
    assert read_declared("annotation a=1:Drain,annotation b:NoLead,spec a:NoClaim") == {
        "annotation": {Taint("a", "1", "Drain"), Taint("b", "", "NoLead")},
        "spec": {Taint("a", "", "NoClaim")},
    }
    assert read_declared("") == {}
    assert drain_in("a:NoClaim,b:Drain")
    assert not drain_in("")
