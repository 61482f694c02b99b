"""Objects that the API server must accept, and close relatives of them that it must refuse.

A rule of the CRDs without a bad object here fails `test_every_rule_has_a_bad_object`.
"""

from dataclasses import dataclass

from pydantic import JsonValue

from paceline_operator.api.schema import JsonDict


@dataclass(frozen=True, slots=True)
class Case:
    """A good object, a bad one, and the words with which the bad one is refused."""

    name: str
    good: JsonDict
    bad: JsonDict
    message: str


@dataclass(frozen=True, slots=True)
class Change(Case):
    """The same for an object that exists already."""

    before: JsonDict


def group(name: str = "builds", **spec: JsonValue) -> JsonDict:
    """A RunnerGroup with the least that it needs, and what the test adds."""
    return _object("RunnerGroup", name, {"database": {"secretRef": {"name": "paceline-db"}}, **spec})


def runner(name: str = "builds-7xk2p", **spec: JsonValue) -> JsonDict:
    """A Runner of the group `builds`."""
    return _object("Runner", name, {"groupRef": {"name": "builds"}, **spec})


def scaled(**autoscaling: JsonValue) -> JsonDict:
    """A RunnerGroup of at most ten runners."""
    return group(autoscaling={"maxReplicas": 10, **autoscaling})


def scheduled(**schedule: JsonValue) -> JsonDict:
    """A RunnerGroup with one schedule."""
    return scaled(schedules=[{"cron": "0 8 * * 1-5", "durationSeconds": 60, "minReplicas": 1, **schedule}])


def tainted(**taint: JsonValue) -> JsonDict:
    """A RunnerGroup with one taint."""
    return group(taints=[{"key": "gpu", "effect": "NoClaim", **taint}])


def _object(kind: str, name: str, spec: JsonDict) -> JsonDict:
    return {
        "apiVersion": "paceline.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _policies(*policies: JsonValue) -> JsonDict:
    return scaled(behavior={"scaleDown": {"policies": [*policies]}})


_NAMES = (
    Case(
        "group-name-length",
        group("a" * 47),
        group("a" * 48),
        "metadata.name of a RunnerGroup must be at most 47 characters: choose a shorter name",
    ),
    Case(
        "group-name-label",
        group("1-builds"),
        group("builds.ci"),
        "metadata.name of a RunnerGroup must be a DNS label: use lower-case letters",
    ),
    Case(
        "runner-name-length",
        runner("a" * 53),
        runner("a" * 54),
        "metadata.name of a Runner must be at most 53 characters: choose a shorter name",
    ),
    Case(
        "runner-name-label",
        runner("laptop"),
        runner("laptop.lan"),
        "metadata.name of a Runner must be a DNS label: use lower-case letters",
    ),
    Case(
        "pool",
        group(pool="a_b.c-1"),
        group(pool="Images"),
        "spec.pool must begin and end with a lower-case letter or digit",
    ),
    Case("tag", group(tags=["linux", "x86_64"]), group(tags=["-linux"]), "spec.tags[] must begin and end"),
    Case("tag-empty", group(tags=[]), group(tags=[""]), "spec.tags[] must begin and end"),
    Case(
        "secret",
        group(database={"secretRef": {"name": "db.url"}}),
        group(database={"secretRef": {"name": ""}}),
        "secretRef.name and runnerSecretRef.name must be the name of a Secret",
    ),
    Case(
        "runner-secret",
        group(database={"secretRef": {"name": "a"}, "runnerSecretRef": {"name": "b"}}),
        group(database={"secretRef": {"name": "a"}, "runnerSecretRef": {"name": "B"}}),
        "secretRef.name and runnerSecretRef.name must be the name of a Secret",
    ),
)

_TAINTS = (
    Case("taint-key", tainted(key="example.com/gpu"), tainted(key=""), "taints[].key must be a name"),
    Case("taint-key-length", tainted(key="a" * 63), tainted(key="a" * 64), "taints[].key must be a name"),
    Case("taint-value", tainted(value="bad"), tainted(value="-"), "taints[].value must be empty or begin"),
    Case("taint-effect", tainted(effect="Drain"), tainted(effect="NoClam"), 'supported values: "NoClaim"'),
    Case(
        "taint-twice",
        group(taints=[{"key": "gpu", "effect": "NoClaim"}, {"key": "gpu", "effect": "NoLead"}]),
        group(taints=[{"key": "gpu", "effect": "NoClaim"}, {"key": "gpu", "effect": "NoClaim", "value": "x"}]),
        "Duplicate value",
    ),
    Case(
        "runner-taint-key",
        runner(taints=[{"key": "gpu", "effect": "NoClaim"}]),
        runner(taints=[{"key": "a b", "effect": "NoClaim"}]),
        "taints[].key must be a name",
    ),
    Case(
        "runner-taint-value",
        runner(taints=[{"key": "gpu", "value": "bad", "effect": "NoClaim"}]),
        runner(taints=[{"key": "gpu", "value": "b d", "effect": "NoClaim"}]),
        "taints[].value must be empty or begin",
    ),
)

_SCALING = (
    Case(
        "min-above-max",
        scaled(minReplicas=10),
        scaled(minReplicas=11),
        "autoscaling.minReplicas must be at most autoscaling.maxReplicas: raise maxReplicas, or lower this",
    ),
    Case(
        "idle-above-max",
        scaled(minIdle=10),
        scaled(minIdle=11),
        "autoscaling.minIdle must be at most autoscaling.maxReplicas",
    ),
    Case(
        "schedule-above-max",
        scheduled(minReplicas=10),
        scheduled(minReplicas=11),
        "autoscaling.schedules[].minReplicas must be at most autoscaling.maxReplicas",
    ),
    Case(
        "fallback-above-max",
        scaled(fallback={"replicas": 10}),
        scaled(fallback={"replicas": 11}),
        "autoscaling.fallback.replicas must be at most autoscaling.maxReplicas",
    ),
    Case("cron", scheduled(cron=" */5  * * * * "), scheduled(cron="0 8 * *"), "schedules[].cron must have five"),
    Case("cron-seconds", scheduled(), scheduled(cron="0 0 8 * * 1-5"), "schedules[].cron must have five"),
    Case(
        "timezone",
        scheduled(timezone="America/Port-au-Prince"),
        scheduled(timezone="+01:00"),
        "schedules[].timezone must be a name of the IANA time zone database",
    ),
    Case(
        "tolerance-up",
        scaled(behavior={"scaleUp": {"tolerance": "0.1"}}),
        scaled(behavior={"scaleUp": {"tolerance": "ten"}}),
        "tolerance must be a quantity that is not negative",
    ),
    Case(
        "tolerance-down",
        scaled(behavior={"scaleDown": {"tolerance": "50m"}}),
        scaled(behavior={"scaleDown": {"tolerance": "-0.1"}}),
        "tolerance must be a quantity that is not negative",
    ),
    Case(
        "tolerance-integer",
        scaled(behavior={"scaleDown": {"tolerance": 0}}),
        scaled(behavior={"scaleDown": {"tolerance": -1}}),
        "tolerance must be a quantity that is not negative",
    ),
    Case(
        "policies-empty",
        _policies({"type": "Pods", "value": 1, "periodSeconds": 1}),
        _policies(),
        "should have at least 1 items",
    ),
    Case(
        "policy-value",
        _policies({"type": "Percent", "value": 100, "periodSeconds": 1800}),
        _policies({"type": "Percent", "value": 0, "periodSeconds": 1800}),
        "greater than or equal to 1",
    ),
)

_UPDATES = (
    Case(
        "roll-stuck",
        group(updateStrategy={"maxSurge": 0, "maxUnavailable": 1}),
        group(updateStrategy={"maxSurge": 0}),
        "updateStrategy.maxSurge and updateStrategy.maxUnavailable must not both be 0: set one of them to 1",
    ),
)

CASES = (*_NAMES, *_TAINTS, *_SCALING, *_UPDATES)

CHANGES = (
    Change(
        "pool-added",
        group(pool="builds"),
        group(pool="images"),
        "spec.pool of a RunnerGroup cannot change (empty means metadata.name): put the old value back",
        before=group(),
    ),
    Change(
        "pool-removed",
        group(pool="images", slots=2),
        group(),
        "spec.pool of a RunnerGroup cannot change",
        before=group(pool="images"),
    ),
    Change(
        "runner-group",
        runner(taints=[{"key": "gpu", "effect": "NoLead"}]),
        runner(groupRef={"name": "images"}),
        "spec.groupRef of a Runner cannot change: put the old value back",
        before=runner(),
    ),
    Change(
        "runner-external",
        runner(external=False),
        runner(external=True),
        "spec.external of a Runner cannot change: put the old value back",
        before=runner(),
    ),
)


def _canary(ratio: float) -> JsonDict:
    return group(updateStrategy={"canary": {"maxFailureRatio": ratio}})


RANGES = (
    Case("replicas-low", group(replicas=0), group(replicas=-1), "greater than or equal to 0"),
    Case("replicas-high", group(replicas=10_000), group(replicas=10_001), "less than or equal to 10000"),
    Case("slots-low", group(slots=1), group(slots=0), "greater than or equal to 1"),
    Case("slots-high", group(slots=1000), group(slots=1001), "less than or equal to 1000"),
    Case(
        "drain-low",
        group(drain={"timeoutSeconds": 1}),
        group(drain={"timeoutSeconds": 0}),
        "greater than or equal to 1",
    ),
    Case(
        "drain-high",
        group(drain={"timeoutSeconds": 604_800}),
        group(drain={"timeoutSeconds": 604_801}),
        "less than or equal to 604800",
    ),
    Case("max-replicas", scaled(maxReplicas=1), scaled(maxReplicas=0), "greater than or equal to 1"),
    Case(
        "utilization-low",
        scaled(targets={"utilization": 1}),
        scaled(targets={"utilization": 0}),
        "greater than or equal to 1",
    ),
    Case(
        "utilization-high",
        scaled(targets={"utilization": 100}),
        scaled(targets={"utilization": 101}),
        "less than or equal to 100",
    ),
    Case("duration", scheduled(durationSeconds=60), scheduled(durationSeconds=59), "greater than or equal to 60"),
    Case("ratio-low", _canary(0), _canary(-0.1), "greater than or equal to 0"),
    Case("ratio-high", _canary(1), _canary(1.1), "less than or equal to 1"),
    Case(
        "window",
        scaled(behavior={"scaleUp": {"stabilizationWindowSeconds": 3600}}),
        scaled(behavior={"scaleUp": {"stabilizationWindowSeconds": 3601}}),
        "less than or equal to 3600",
    ),
    Case("pool-length", group(pool="a" * 63), group(pool="a" * 64), "may not be more than 63"),
    Case("dispatch", group(dispatch="Leader"), group(dispatch="Random"), 'supported values: "Shared", "Leader"'),
)
