"""A cluster in memory, for commands that only read and annotate; the real one is in tests/cluster."""

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from paceline_cli.cluster import Where
from paceline_operator.ports.cluster import SecretData
from paceline_operator.ports.errors import ConflictError, ForbiddenError
from paceline_operator.ports.resources import ResourceKind

Json = dict[str, Any]


class Memory:
    """Objects by kind, namespace and name."""

    def __init__(self, *objects: Json, secrets: dict[tuple[str, str], dict[str, str]] | None = None) -> None:
        self.objects = {self._key(each["kind"], each): each for each in objects}
        self.secrets = secrets or {}
        self.forbidden: set[tuple[str, str | None]] = set()
        """Kind and namespace (None: all) of lists that are not allowed."""
        self.before_patch: Callable[[Memory], None] = lambda _: None

    @staticmethod
    def _key(kind: str, found: Json) -> tuple[str, str, str]:
        return kind, found["metadata"]["namespace"], found["metadata"]["name"]

    async def list(
        self, resource: ResourceKind, namespace: str | None, *, labels: dict[str, str | None] | None = None, **_: object
    ) -> list[Json]:
        if (resource.kind, namespace) in self.forbidden:
            raise ForbiddenError(f"list {resource}", 403, "no")
        return [
            copy.deepcopy(each) for (kind, where, _), each in self.objects.items()
            if kind == resource.kind and namespace in (None, where)
            and _fits(each["metadata"].get("labels") or {}, labels or {})
        ]  # fmt: skip

    async def get(self, resource: ResourceKind, namespace: str | None, name: str) -> Json | None:
        return copy.deepcopy(self.objects.get((resource.kind, namespace or "", name)))

    async def patch(self, resource: ResourceKind, namespace: str, name: str, patch: Json, *, uid: str) -> Json | None:
        self.before_patch(self)
        meta = self.objects[resource.kind, namespace, name]["metadata"]
        assert meta["uid"] == uid
        wanted = patch["metadata"]
        if wanted.get("resourceVersion", meta["resourceVersion"]) != meta["resourceVersion"]:
            raise ConflictError("patch", 409, "the object has been modified")
        merged = {**(meta.get("annotations") or {}), **wanted["annotations"]}
        meta["annotations"] = {key: value for key, value in merged.items() if value is not None}
        meta["resourceVersion"] += "1"
        return {"metadata": meta}

    async def read_secret(self, namespace: str, name: str) -> SecretData | None:
        found = self.secrets.get((namespace, name))
        return None if found is None else SecretData(found)


def _fits(has: dict[str, str], wanted: dict[str, str | None]) -> bool:
    return all(key in has and value in (None, has[key]) for key, value in wanted.items())


def thing(kind: str, name: str, namespace: str = "ci", **more: Any) -> Json:
    """An object with what every object has."""
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "1"}
    given = more.pop("metadata", {})
    return {"kind": kind, "metadata": {**meta, **given}, **more}


def at(memory: Memory, namespace: str = "ci") -> Where:
    """That cluster, as commands have it."""
    return Where(cast("Any", memory), namespace, False, cast("Any", SimpleNamespace()))
