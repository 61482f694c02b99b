"""Objects that the tests of the API share: the smallest, and one with every field that there is."""

from paceline_operator.api.schema import JsonDict

MINIMAL_GROUP: JsonDict = {
    "apiVersion": "paceline.dev/v1alpha1",
    "kind": "RunnerGroup",
    "metadata": {"name": "builds"},
    "spec": {"database": {"secretRef": {"name": "paceline-db"}}},
}

MINIMAL_RUNNER: JsonDict = {
    "apiVersion": "paceline.dev/v1alpha1",
    "kind": "Runner",
    "metadata": {"name": "builds-7xk2p"},
    "spec": {"groupRef": {"name": "builds"}},
}

_CONDITIONS: JsonDict = {
    "conditions": [
        {
            "type": "Ready",
            "status": "False",
            "observedGeneration": 3,
            "lastTransitionTime": "2026-03-01T10:00:07Z",
            "reason": "QueueUnreachable",
            "message": "The database does not answer.",
        }
    ]
}

_TAINTS: JsonDict = {"taints": [{"key": "example.com/gpu", "value": "bad", "effect": "NoClaim"}]}

_SCALING: JsonDict = {
    "stabilizationWindowSeconds": 60,
    "selectPolicy": "Min",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 60},
        {"type": "Percent", "value": 50, "periodSeconds": 15},
    ],
    "tolerance": "0.1",
}

_AUTOSCALING: JsonDict = {
    "mode": "Internal",
    "minReplicas": 1,
    "maxReplicas": 50,
    "minIdle": 2,
    "targets": {"utilization": 80, "waitSeconds": 30},
    "schedules": [
        {
            "cron": "0 8 * * 1-5",
            "timezone": "Europe/Berlin",
            "durationSeconds": 36000,
            "minReplicas": 5,
        }
    ],
    "behavior": {"scaleUp": _SCALING | {"tolerance": 0}, "scaleDown": _SCALING},
    "fallback": {"replicas": 3, "afterSeconds": 120},
}

_GROUP_SPEC: JsonDict = {
    "pool": "images",
    "database": {"secretRef": {"name": "paceline-db"}, "runnerSecretRef": {"name": "builds-db"}},
    "dispatch": "Leader",
    "replicas": 3,
    "slots": 4,
    "tags": ["linux", "docker"],
    "taints": _TAINTS["taints"],
    "lifetime": {"maxJobs": 100, "maxAgeSeconds": 86400},
    "autoscaling": _AUTOSCALING,
    "drain": {"timeoutSeconds": 600},
    "updateStrategy": {
        "type": "RollingUpdate",
        "maxSurge": 2,
        "maxUnavailable": 1,
        "canary": {"runners": 2, "observeSeconds": 30, "maxFailureRatio": 0.5},
        "autoRollback": False,
        "revisionHistoryLimit": 5,
    },
    "disruptionBudget": {"maxUnavailable": 2},
    "startupTimeoutSeconds": 120,
    "template": {"spec": {"containers": [{"name": "runner", "image": "example.com/runner:1"}]}},
}

_GROUP_STATUS: JsonDict = {
    "pool": "images",
    "replicas": 3,
    "readyReplicas": 2,
    "busyReplicas": 1,
    "idleReplicas": 1,
    "pendingReplicas": 1,
    "selector": "paceline.dev/group=builds",
    "leader": {"runner": "builds-7xk2p", "epoch": 4},
    "queue": {
        "ready": 17,
        "running": 2,
        "scheduled": 5,
        "blocked": 1,
        "unclaimable": 6,
        "dead": 7,
        "oldestSeconds": 42,
    },
    "recommendation": {
        "replicas": 9,
        "reason": "QueueGrew",
        "limitedBy": "maxReplicas",
        "inputs": {"ready": 17, "arrivals": 0.5, "rule": "wait"},
        "at": "2026-03-01T10:00:07Z",
    },
    "currentRevision": "builds-1",
    "updateRevision": "builds-2",
    "updatedReplicas": 2,
    "failedRevision": "builds-3",
    "alerts": [
        {
            "name": "PacelineGroupStuck",
            "since": "2026-01-05T08:00:00Z",
            "message": "2 of them have not been ready for 15 minutes.",
            "toldAt": "2026-01-05T08:15:00Z",
            "endedAt": "2026-01-05T09:00:00Z",
        }
    ],
    "observedGeneration": 3,
    **_CONDITIONS,
}

FULL_GROUP: JsonDict = {
    "apiVersion": "paceline.dev/v1alpha1",
    "kind": "RunnerGroup",
    "metadata": {
        "name": "builds",
        "namespace": "ci",
        "uid": "9a5b7d2c-0000-4000-8000-000000000001",
        "resourceVersion": "812",
        "generation": 3,
        "labels": {"team": "build"},
        "annotations": {"paceline.dev/paused": "true"},
        "finalizers": ["paceline.dev/cleanup"],
        "creationTimestamp": "2026-03-01T09:00:00Z",
        "deletionTimestamp": "2026-03-01T11:00:00Z",
    },
    "spec": _GROUP_SPEC,
    "status": _GROUP_STATUS,
}

FULL_RUNNER: JsonDict = {
    "apiVersion": "paceline.dev/v1alpha1",
    "kind": "Runner",
    "metadata": {
        "name": "builds-7xk2p",
        "namespace": "ci",
        "ownerReferences": [
            {
                "apiVersion": "paceline.dev/v1alpha1",
                "kind": "RunnerGroup",
                "name": "builds",
                "uid": "9a5b7d2c-0000-4000-8000-000000000001",
                "controller": True,
            }
        ],
    },
    "spec": {"groupRef": {"name": "builds"}, "external": False, **_TAINTS},
    "status": {
        "podName": "builds-7xk2p-1",
        "incarnation": 815,
        "revision": "builds-1",
        "taints": "gpu=bad:NoClaim",
        "observedGeneration": 1,
        **_CONDITIONS,
    },
}
