"""Checks every manifest without a cluster.

Built-in kinds by Kubernetes' own schemas, ours by our CRDs, the Prometheus operator's by what we use of them.
The real check is a server-side dry run in tests/apiserver; this one takes a second and needs nothing.
"""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

from paceline_dev import REPOSITORY, monitoring
from paceline_dev.errors import DevError

KUBERNETES = "1.36"
FOLDERS = ("crds", "manifests", "runner-image/examples")
OURS = "paceline.dev/"
KUSTOMIZE = "kustomize.config.k8s.io/"
KUSTOMIZATIONS = ("kustomization.yaml", "Kustomization")
CHART = "Chart.yaml"
COMPOSE = "compose.yaml"
"""For Docker's compose, which a test of the example asks about it."""
PARSED_ONLY = {"postgresql.cnpg.io/v1 Cluster", "keda.sh/v1alpha1 ScaledObject"}
"""Kinds of others that a sample shows: their CRDs are not in this tree, so that only their YAML can be checked."""


def validate(root: Path = REPOSITORY) -> None:
    """Read all documents; every fault is one line, all of them are told at once."""
    faults = [
        f"{path.relative_to(root)}: {fault}"
        for folder in FOLDERS
        for path in sorted((*(root / folder).rglob("*.yaml"), *(root / folder).rglob("Kustomization")))
        if path.name != COMPOSE and not _in_a_chart(path, root)
        for document in yaml.safe_load_all(path.read_text())
        if document is not None
        for fault in _faults(document, path, root / "crds")
    ]
    if faults:
        raise DevError("\n".join(["manifests are not valid:", *faults]))


def _faults(document: dict[str, Any], path: Path, crds: Path) -> list[str]:
    if missing := [field for field in ("apiVersion", "kind") if field not in document]:
        return [f"a document has no {' and no '.join(missing)}"]
    kind = f"{document['apiVersion']} {document['kind']}"
    if kind.startswith(KUSTOMIZE):
        return [
            f"its {part} {name} is not there"
            for part, names in (
                ("resource", (*document.get("resources", ()), *_generated_from(document))),
                ("component", document.get("components", ())),
            )
            for name in names
            if not _is_resource(path.parent / name)
        ]
    if kind.startswith(OURS):
        schema = _own_schemas(crds).get(kind)
        return [f"no CRD in crds/ defines {kind}"] if schema is None else _misfits(kind, document, schema)
    if (schema := monitoring.schemas().get(kind)) is not None:
        return _misfits(kind, document, schema)
    if kind in PARSED_ONLY:
        return []
    try:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{kind}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError:
        return [f"Kubernetes {KUBERNETES} knows no {kind}"]
    return []


def _in_a_chart(path: Path, root: Path) -> bool:
    """Templates are no YAML until Helm has rendered them: tests/packaging holds what comes out against manifests/."""
    return any((folder / CHART).is_file() for folder in path.parents if folder.is_relative_to(root))


def _generated_from(document: dict[str, Any]) -> list[str]:
    return [file for each in document.get("configMapGenerator", ()) for file in each["files"]]


def _misfits(kind: str, document: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{kind}: {error.json_path}: {error.message}" for error in errors]


def _is_resource(path: Path) -> bool:
    """A file, or a folder with a kustomization of its own."""
    return path.is_file() or any((path / name).is_file() for name in KUSTOMIZATIONS)


@cache
def _own_schemas(crds: Path) -> dict[str, Any]:
    """The schema of each kind and version that our CRDs serve, with unknown fields forbidden."""
    schemas = {}
    for path in crds.glob("*.yaml"):
        spec = yaml.safe_load(path.read_text())["spec"]
        for version in spec["versions"]:
            kind = f"{spec['group']}/{version['name']} {spec['names']['kind']}"
            schemas[kind] = _closed(version["schema"]["openAPIV3Schema"], top=True)
    return schemas


def _closed(schema: dict[str, Any], *, top: bool = False) -> dict[str, Any]:
    closed = dict(schema)
    if "properties" in schema:
        closed["properties"] = {name: _closed(part) for name, part in schema["properties"].items()}
        if top:  # the CRD leaves the object's metadata to the API server
            closed["properties"]["metadata"] = {"type": "object", "required": ["name"]}
        closed["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if "items" in schema:
        closed["items"] = _closed(schema["items"])
    return closed
