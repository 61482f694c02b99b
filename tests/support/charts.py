"""What Helm and kustomize make of our install, so that the two can be compared."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from paceline_dev.kubectl import Kubectl

Json = dict[str, Any]
Key = tuple[str, ...]

HELMS_LABELS = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
}
HELMS_ANNOTATIONS = {"helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy", "helm.sh/resource-policy"}
NOT_IN_THE_CHART = {"Namespace", "CustomResourceDefinition"}
"""The first is `helm install --create-namespace`, the second the chart paceline-crds."""


def by_name(documents: Iterable[Json]) -> dict[Key, Json]:
    """Objects by apiVersion, kind, namespace and name, without what is Helm's own."""
    found: dict[Key, Json] = {}
    for each in documents:
        meta = each["metadata"]
        key = (each["apiVersion"], each["kind"], meta.get("namespace", ""), meta["name"])
        assert key not in found
        found[key] = _without_helms_own(each)
    return found


def _without_helms_own(document: Json) -> Json:
    meta = dict(document["metadata"])
    for field, own in (("labels", HELMS_LABELS), ("annotations", HELMS_ANNOTATIONS)):
        if kept := {key: value for key, value in (meta.pop(field, None) or {}).items() if key not in own}:
            meta[field] = kept
    return {**document, "metadata": meta}


def kustomized(kubectl: Kubectl, folder: Path) -> list[Json]:
    """What `kubectl apply -k` would apply."""
    return list(yaml.safe_load_all(kubectl.run("kustomize", str(folder)).stdout))


def in_the_chart(documents: Iterable[Json]) -> dict[Key, Json]:
    """Those of a kustomization that a chart has to have as well."""
    return by_name(each for each in documents if each["kind"] not in NOT_IN_THE_CHART)


def values_option(folder: Path, values: Json) -> str:
    """An option that gives helm these values."""
    place = folder / "values.yaml"
    place.write_text(json.dumps(values))
    return f"--values={place}"
