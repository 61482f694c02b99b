"""The requests that the port's methods are made of. Building them is pure; `wire` sends them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from paceline_operator.ports.cluster import Manifest, Propagation
from paceline_operator.ports.resources import ResourceKind, resource_of

FIELD_MANAGER = "paceline"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a request is about."""

    resource: ResourceKind
    namespace: str | None
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        place = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.resource} {place}".rstrip()


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask, and what may be done when the answer does not come."""

    verb: str
    method: str
    target: Target
    query: Mapping[str, str] = field(default_factory=dict)
    body: Manifest | None = field(default=None, repr=False)
    content: str = "application/json"
    idempotent: bool = True
    """Whether carrying it out twice is the same as once."""
    contends: bool = False
    """Whether a conflict is nobody's decision, so that it is sent again: there is no precondition in it."""

    called: str = ""
    """The name that a create asks for: it is not in the path."""

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET"

    @property
    def path(self) -> str:
        """Where the API server serves it."""
        return self.target.resource.path(self.target.namespace, self.target.name, self.target.subresource)

    def __str__(self) -> str:
        target = replace(self.target, name=self.called) if self.called else self.target
        return f"{self.verb} {target}"


def listing(target: Target, selectors: Mapping[str, str], page: int, token: str) -> Request:
    """One page. Without a resourceVersion in the query the API server promises a consistent read."""
    query = {"limit": str(page), **selectors, **({"continue": token} if token else {})}
    return Request("list", "GET", target, query)


def selectors(labels: Mapping[str, str | None] | None, fields: Mapping[str, str] | None) -> dict[str, str]:
    """The query of a list; a label with the value None must exist."""
    query = {}
    if labels:
        query["labelSelector"] = ",".join(key if value is None else f"{key}={value}" for key, value in labels.items())
    if fields:
        query["fieldSelector"] = ",".join(f"{key}={value}" for key, value in fields.items())
    return query


def getting(target: Target) -> Request:
    """One object, by a consistent read."""
    return Request("get", "GET", target)


def applying(manifest: Manifest, dry_run: bool) -> Request:
    """Others' fields are only touched where we set them too: then ours win."""
    meta = manifest["metadata"]
    query = {"fieldManager": FIELD_MANAGER, "force": "true", **({"dryRun": "All"} if dry_run else {})}
    target = Target(resource_of(manifest), meta.get("namespace"), meta["name"])
    bound = "uid" in meta or "resourceVersion" in meta
    return Request("apply", "PATCH", target, query, manifest, APPLY, contends=not bound)


def creating(manifest: Manifest) -> Request:
    """After a broken connection it is not sent again: the name would be taken, perhaps by ourselves."""
    meta = manifest["metadata"]
    target, query = Target(resource_of(manifest), meta.get("namespace")), {"fieldManager": FIELD_MANAGER}
    called = meta.get("name", "")
    return Request("create", "POST", target, query, manifest, idempotent=False, contends=True, called=called)


def deleting(target: Target, uid: str, propagation: Propagation, grace_seconds: int | None) -> Request:
    """A repeated one finds nothing, or another uid: so it may be repeated."""
    options: Manifest = {"preconditions": {"uid": uid}, "propagationPolicy": propagation}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return Request("delete", "DELETE", target, body={"apiVersion": "v1", "kind": "DeleteOptions", **options})


def writing_status(target: Target, status: Manifest, uid: str, resource_version: str) -> Request:
    """Server-side apply to /status, bound to one version of one object.

    Apply, because a merge patch would replace the whole list of conditions, others' too, and would leave the fields
    that we no longer send. A version, because the uid is not enough: to the status of a custom resource the API
    server (1.36) lets a foreign uid through, answers 200 and writes to the new object.
    """
    meta = {"name": target.name, "namespace": target.namespace, "uid": uid, "resourceVersion": resource_version}
    body = {
        "apiVersion": target.resource.api_version,
        "kind": target.resource.kind,
        "metadata": {key: value for key, value in meta.items() if value is not None},
        "status": status,
    }
    where = Target(target.resource, target.namespace, target.name, "status")
    return Request("status", "PATCH", where, {"fieldManager": FIELD_MANAGER, "force": "true"}, body, APPLY)


def merging(target: Target, patch: Manifest, uid: str) -> Request:
    """The uid goes into the patch: the API server refuses to change it, and with it all the rest."""
    meta = {**patch.get("metadata", {}), "uid": uid}
    query, body = {"fieldManager": FIELD_MANAGER}, {**patch, "metadata": meta}
    return Request("patch", "PATCH", target, query, body, MERGE, contends="resourceVersion" not in meta)
