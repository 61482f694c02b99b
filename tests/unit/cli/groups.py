"""RunnerGroups as the operator leaves them."""

from typing import Any

from paceline_operator.api.v1alpha1 import RunnerGroup

NAMES = {"name": "builds", "namespace": "ci"}


def condition(kind: str, status: str = "True", reason: str = "AsWanted", message: str = "") -> dict[str, Any]:
    return {
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-05-01T12:00:00Z",
    }  # fmt: skip


GOOD = (condition("Ready"), condition("Available", reason="Available"), condition("QueueReachable", reason="Reachable"))


def group(
    *conditions: dict[str, Any], name: str = "builds", namespace: str = "ci", dispatch: str = "Shared",
    generation: int = 1, **status: Any,
) -> RunnerGroup:  # fmt: skip
    """One that is well, but for what is given."""
    spec = {
        "database": {"secretRef": {"name": "db"}}, "dispatch": dispatch,
        "template": {"spec": {"containers": [{"name": "runner"}]}},
    }  # fmt: skip
    given = {each["type"] for each in conditions}
    every = [*(each for each in GOOD if each["type"] not in given), *conditions]
    told = {
        "pool": name, "replicas": 3, "readyReplicas": 3, "busyReplicas": 1, "idleReplicas": 2, "pendingReplicas": 0,
        "queue": {"ready": 4, "running": 2, "oldestSeconds": 12}, "currentRevision": "a1", "updateRevision": "a1",
        "updatedReplicas": 3, "observedGeneration": 1, "conditions": every, **status,
    }  # fmt: skip
    meta = {"name": name, "namespace": namespace, "generation": generation}
    return RunnerGroup.model_validate({"metadata": meta, "spec": spec, "status": told})
