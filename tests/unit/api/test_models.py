"""The models read what the API server stores: the same defaults, nothing lost, nothing changed."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import JsonValue, ValidationError

from paceline_dev.crds import root_schema
from paceline_operator.api.schema import JsonDict, Resource
from paceline_operator.api.v1alpha1 import (
    RUNNER_GROUPS,
    RUNNERS,
    Condition,
    Recommendation,
    Runner,
    RunnerGroup,
    RunnerGroupSpec,
    Taint,
)
from unit.api.examples import FULL_GROUP, FULL_RUNNER, MINIMAL_GROUP, MINIMAL_RUNNER


def defaulted(schema: JsonValue, value: JsonValue) -> JsonValue:
    """What the API server makes of a value: absent fields get their defaults, from the outside in."""
    assert isinstance(schema, dict)
    if isinstance(value, list):
        return [defaulted(schema["items"], each) for each in value]
    if not isinstance(value, dict) or not isinstance(properties := schema.get("properties"), dict):
        return value
    filled = dict(value)
    for name, child in properties.items():
        assert isinstance(child, dict)
        if name not in filled and "default" in child:
            filled[name] = child["default"]
        if name in filled:
            filled[name] = defaulted(child, filled[name])
    return filled


def paths(schema: JsonValue, above: str = "") -> set[str]:
    """Every field that a schema knows."""
    assert isinstance(schema, dict)
    if "items" in schema:
        return paths(schema["items"], above)
    properties = schema.get("properties", {})
    assert isinstance(properties, dict)
    below = {f"{above}.{name}" for name in properties}
    return below.union(*(paths(child, f"{above}.{name}") for name, child in properties.items()))


def paths_of(value: JsonValue, above: str = "") -> set[str]:
    """Every field that an object has."""
    if isinstance(value, list):
        return set().union(*(paths_of(each, above) for each in value))
    if not isinstance(value, dict):
        return set()
    below = {f"{above}.{name}" for name in value}
    return below.union(*(paths_of(child, f"{above}.{name}") for name, child in value.items()))


@pytest.mark.parametrize(
    ("resource", "given"),
    [
        pytest.param(RUNNER_GROUPS, MINIMAL_GROUP, id="group"),
        pytest.param(RUNNERS, MINIMAL_RUNNER, id="runner"),
        pytest.param(
            RUNNER_GROUPS,
            MINIMAL_GROUP
            | {
                "spec": {
                    "database": {"secretRef": {"name": "db"}},
                    "taints": [{"key": "gpu", "effect": "NoClaim"}],
                    "updateStrategy": {"canary": {"runners": 0}},
                    "autoscaling": {
                        "maxReplicas": 5,
                        "fallback": {"replicas": 2},
                        "behavior": {"scaleUp": {}},
                        "schedules": [{"cron": "0 8 * * *", "durationSeconds": 60, "minReplicas": 1}],
                    },
                }
            },
            id="group-with-every-block-begun",
        ),
    ],
)
def test_defaults_are_those_of_the_api_server(resource: Resource, given: JsonDict) -> None:
    stored = defaulted(root_schema(resource), given)
    assert isinstance(stored, dict)
    parsed = resource.model.model_validate(given)
    assert parsed == resource.model.model_validate(stored)
    dumped = parsed.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert dumped["spec"] == stored["spec"]


def test_what_is_unset_in_behavior_stays_unset() -> None:
    spec = RunnerGroupSpec.model_validate(
        {
            "database": {"secretRef": {"name": "db"}},
            "autoscaling": {"maxReplicas": 1, "behavior": {"scaleUp": {}}},
        }
    )
    assert spec.autoscaling is not None
    assert spec.autoscaling.behavior is not None
    assert spec.autoscaling.behavior.scale_up is not None
    assert spec.autoscaling.behavior.scale_up.model_dump(exclude_none=True) == {}
    assert spec.autoscaling.behavior.scale_down is None


@pytest.mark.parametrize(
    ("resource", "full"),
    [pytest.param(RUNNER_GROUPS, FULL_GROUP, id="group"), pytest.param(RUNNERS, FULL_RUNNER, id="runner")],
)
def test_a_full_object_survives_the_round_trip(resource: Resource, full: JsonDict) -> None:
    assert paths(root_schema(resource)) <= paths_of(full), "the example is not full"
    parsed = resource.model.model_validate(full)
    assert parsed.model_dump(mode="json", by_alias=True, exclude_unset=True) == full


def test_fields_of_a_newer_version_are_skipped_at_every_depth() -> None:
    newer = RunnerGroup.model_validate(
        MINIMAL_GROUP
        | {
            "spec": {"database": {"secretRef": {"name": "paceline-db", "key": "x"}}, "gravity": 9.81},
            "status": {"mood": "good"},
        }
    )
    assert newer.spec.database.secret_ref.model_dump() == {"name": "paceline-db"}
    assert newer == RunnerGroup.model_validate(MINIMAL_GROUP)


def test_models_cannot_be_changed() -> None:
    group = RunnerGroup.model_validate(MINIMAL_GROUP)
    with pytest.raises(ValidationError, match="frozen"):
        group.spec.replicas = 2  # type: ignore[misc]
    assert group.spec.replicas == 1


def test_the_template_stays_as_it_was_written() -> None:
    template: JsonDict = {"spec": {"containers": [{"name": "runner", "somethingNew": [1, None, {"a": 0.5}]}]}}
    spec = RunnerGroupSpec.model_validate({"database": {"secretRef": {"name": "db"}}, "template": template})
    assert type(spec.template) is dict
    assert spec.template == template


@pytest.mark.parametrize("missing", [{}, {"status": {}}], ids=["absent", "empty"])
def test_an_object_that_is_new_has_an_empty_status(missing: JsonDict) -> None:
    group = RunnerGroup.model_validate(MINIMAL_GROUP | missing)
    runner = Runner.model_validate(MINIMAL_RUNNER | missing)
    assert group.status.conditions == ()
    assert group.status.queue is None
    assert runner.status.pod_name is None


def test_an_empty_pool_means_the_name_of_the_group() -> None:
    named = {"database": {"secretRef": {"name": "db"}}, "pool": "images"}
    assert RunnerGroup.model_validate(MINIMAL_GROUP).pool == "builds"
    assert RunnerGroup.model_validate(MINIMAL_GROUP | {"spec": named}).pool == "images"


@pytest.mark.parametrize(
    ("block", "mode"),
    [
        ({}, "Off"),
        ({"autoscaling": {"maxReplicas": 5}}, "Internal"),
        ({"autoscaling": {"maxReplicas": 5, "mode": "Recommend"}}, "Recommend"),
    ],
)
def test_no_autoscaling_block_means_off(block: JsonDict, mode: str) -> None:
    spec = RunnerGroupSpec.model_validate({"database": {"secretRef": {"name": "db"}}, **block})
    assert spec.scaling_mode == mode


def test_times_are_utc_in_whole_seconds_so_that_what_is_read_equals_what_was_written() -> None:
    now = datetime(2026, 3, 1, 12, 0, 7, 654321, timezone(timedelta(hours=2)))
    written = Recommendation(at=now).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert written == {"at": "2026-03-01T10:00:07Z"}
    assert Recommendation.model_validate(written) == Recommendation(at=now)
    assert Recommendation(at=now).at == datetime(2026, 3, 1, 10, 0, 7, tzinfo=UTC)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        Recommendation(at=datetime(2026, 3, 1))


def test_an_object_of_another_kind_is_refused() -> None:
    with pytest.raises(ValidationError, match="kind"):
        Runner.model_validate(MINIMAL_RUNNER | {"kind": "RunnerGroup"})


@pytest.mark.parametrize("key", ["", "-gpu", "gpu-", "a b", "UPPER.example/gpu", "/gpu", "x/", "a" * 64])
def test_a_taint_key_that_is_no_name_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="key"):
        Taint(key=key, effect="NoClaim")


@pytest.mark.parametrize("key", ["gpu", "example.com/gpu", "A_b.c-1", "a" * 63])
def test_a_taint_key_may_have_a_prefix(key: str) -> None:
    assert Taint(key=key, effect="NoClaim").value == ""


def test_a_condition_needs_a_reason() -> None:
    with pytest.raises(ValidationError, match="reason"):
        Condition(type="Ready", status="True", reason="", message="", last_transition_time=datetime.now(UTC))
