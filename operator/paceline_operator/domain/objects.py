"""The objects that a group consists of, as they are applied. Pure: the same group makes the same objects."""

import copy
from typing import Final, cast

from pydantic import JsonValue

from paceline_operator.api.schema import JsonDict
from paceline_operator.api.v1alpha1 import GROUP, VERSION, RunnerGroup
from paceline_operator.domain.names import (
    LABEL_GROUP,
    LABEL_REVISION,
    LABEL_RUNNER,
    RESTARTED_AT,
    RUNNER_CONTAINER,
    WATCHED_SINCE,
    budget_name,
    pod_name,
    revision_name,
)
from paceline_operator.domain.restrict import restrict_pod, restrict_runner
from paceline_operator.domain.revision import RevisionSeen, revision_of

PORT: Final = 8080
GRACE_MARGIN: Final = 30
"""Seconds that a pod gets beyond the drain's timeout, for the runner to hand back and leave."""


def owner(kind: str, api_version: str, name: str, uid: str) -> JsonDict:
    """A reference to whoever manages an object, so that it goes when the owner does."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def build_runner(group: RunnerGroup, name: str, *, external: bool = False) -> JsonDict:
    """A Runner of the group; an external one has no pods."""
    meta = group.metadata
    spec: JsonDict = {"groupRef": {"name": meta.name}}
    if external:
        spec["external"] = True
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Runner",
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": {LABEL_GROUP: meta.name},
            "ownerReferences": [owner("RunnerGroup", f"{GROUP}/{VERSION}", meta.name, meta.uid)],
        },
        "spec": spec,
    }


def build_budget(group: RunnerGroup, min_available: int) -> JsonDict:
    """What evictions must leave. Not maxUnavailable: for that, Kubernetes would ask the pods' owners for a scale."""
    meta = group.metadata
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": budget_name(meta.name),
            "namespace": meta.namespace,
            "labels": {LABEL_GROUP: meta.name},
            "ownerReferences": [owner("RunnerGroup", f"{GROUP}/{VERSION}", meta.name, meta.uid)],
        },
        "spec": {
            "minAvailable": min_available,
            "selector": {"matchLabels": {LABEL_GROUP: meta.name}},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def build_revision(group: RunnerGroup, revision: RevisionSeen) -> JsonDict:
    """What keeps a revision."""
    meta = group.metadata
    annotations: JsonDict = {}
    if revision.watched_since is not None:
        annotations[WATCHED_SINCE] = revision.watched_since.isoformat()
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": revision_name(meta.name, revision.name),
            "namespace": meta.namespace,
            "labels": {LABEL_GROUP: meta.name, LABEL_REVISION: revision.name},
            "annotations": annotations,
            "ownerReferences": [owner("RunnerGroup", f"{GROUP}/{VERSION}", meta.name, meta.uid)],
        },
        "revision": revision.number,
        "data": revision.made_of,
    }


def template_problem(group: RunnerGroup) -> str:
    """Why no pod can be made of the group's template, as far as can be seen without asking the API server."""
    template = group.spec.template
    if template is None:
        return ""
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return "spec.template.spec is missing: give it a container named runner"
    containers = spec.get("containers")
    names = [each.get("name") for each in containers if isinstance(each, dict)] if isinstance(containers, list) else []
    if RUNNER_CONTAINER not in names:
        there = ", ".join(str(name) for name in names) or "none"
        return f'spec.template.spec.containers has no container named "runner" (there are: {there}): rename or add it'
    if others := [str(name) for name in names if name != RUNNER_CONTAINER]:
        return (
            f"spec.template.spec.containers also has {', '.join(others)}, which would keep the pod alive without its "
            "runner: make them native sidecars (initContainers with restartPolicy: Always)"
        )
    return ""


def build_pod(
    group: RunnerGroup, runner: str, runner_uid: str, boot: int, install: str, restarted_at: str = ""
) -> JsonDict:
    """The nth pod of a Runner. What is ours is set by us, whatever the template says; the rest is the user's.

    `group` is as of the revision that the pod is to have.
    """
    template: JsonDict = copy.deepcopy(group.spec.template or {})
    given = cast(JsonDict, template.get("metadata") or {})
    spec = cast(JsonDict, template.get("spec") or {})
    labels = cast(JsonDict, given.get("labels") or {})
    labels.update({LABEL_GROUP: group.metadata.name, LABEL_RUNNER: runner, LABEL_REVISION: revision_of(group)})
    meta: JsonDict = {
        "name": pod_name(runner, boot),
        "namespace": group.metadata.namespace,
        "labels": labels,
        "ownerReferences": [owner("Runner", f"{GROUP}/{VERSION}", runner, runner_uid)],
    }
    annotations = cast(JsonDict, given.get("annotations") or {})
    annotations.pop(RESTARTED_AT, None)
    if restarted_at:
        annotations[RESTARTED_AT] = restarted_at
    if annotations:
        meta["annotations"] = annotations
    spec["restartPolicy"] = "Never"
    spec["terminationGracePeriodSeconds"] = group.spec.drain.timeout_seconds + GRACE_MARGIN
    spec.setdefault("automountServiceAccountToken", False)
    restrict_pod(spec)
    for container in cast(list[JsonDict], spec.get("containers") or []):
        if container.get("name") == RUNNER_CONTAINER:
            _make_runner(container, group, runner, install)
            restrict_runner(container, spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _make_runner(container: JsonDict, group: RunnerGroup, runner: str, install: str) -> None:
    ours = _environment(group, runner, install)
    names = {cast(JsonDict, each)["name"] for each in ours}
    theirs = [each for each in cast(list[JsonDict], container.get("env") or []) if each.get("name") not in names]
    container["env"] = [*ours, *theirs]
    container["readinessProbe"] = {
        "httpGet": _get("/health/ready"),
        "periodSeconds": 2,
        "timeoutSeconds": 2,
        "failureThreshold": 1,
    }
    container["livenessProbe"] = {
        "httpGet": _get("/health/live"), "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6,
    }  # fmt: skip
    container.pop("startupProbe", None)
    container["lifecycle"] = {"preStop": {"exec": {"command": ["paceline", "drain", "--wait"]}}}
    ports = [each for each in cast(list[JsonDict], container.get("ports") or []) if each.get("name") != "paceline"]
    container["ports"] = [{"name": "paceline", "containerPort": PORT, "protocol": "TCP"}, *ports]


def _get(path: str) -> JsonDict:
    return {"path": path, "port": PORT, "scheme": "HTTP"}


def _environment(group: RunnerGroup, runner: str, install: str) -> list[JsonValue]:
    spec = group.spec
    login = (spec.database.runner_secret_ref or spec.database.secret_ref).name

    def secret(key: str, *, optional: bool = False) -> JsonDict:
        reference: JsonDict = {"name": login, "key": key}
        if optional:
            reference["optional"] = True
        return {"valueFrom": {"secretKeyRef": reference}}

    def field(path: str) -> JsonDict:
        return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}

    variables: dict[str, JsonDict] = {
        "PACELINE_DATABASE_URL": secret("url"),
        "PACELINE_LISTEN_URL": secret("listenUrl", optional=True),
        "PACELINE_NODE_ID": {"value": runner},
        "PACELINE_GROUP": {"value": f"{group.metadata.namespace}/{group.metadata.name}"},
        "PACELINE_INSTALL": {"value": install},
        "PACELINE_POD_NAME": field("metadata.name"),
        "PACELINE_POD_UID": field("metadata.uid"),
        "PACELINE_POD_IP": field("status.podIP"),
        "PACELINE_LISTEN": {"value": f"$(PACELINE_POD_IP):{PORT}"},
        "PACELINE_REVISION": {"value": revision_of(group)},
        "PACELINE_SLOTS": {"value": str(spec.slots)},
        "PACELINE_TAGS": {"value": ",".join(spec.tags)},
        "PACELINE_MAX_JOBS": {"value": str(spec.lifetime.max_jobs)},
        "PACELINE_DRAIN_TIMEOUT_SECS": {"value": str(spec.drain.timeout_seconds)},
    }
    return [{"name": name, **value} for name, value in variables.items()]
