"""The port to the Kubernetes API, kept over `kubernetes.aio`.

Only the library's request layer is used, never its models: they lose the fields that they do not know, and cost CPU.
"""

import base64
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from paceline_operator.adapters import requests
from paceline_operator.adapters.access import Access
from paceline_operator.adapters.requests import Target
from paceline_operator.adapters.retry import Retries
from paceline_operator.adapters.wire import OnRequest, Wire
from paceline_operator.ports.cluster import Manifest, Manifests, Propagation, SecretData
from paceline_operator.ports.errors import UnreachableError
from paceline_operator.ports.resources import SECRET, ResourceKind

PAGE = 500
TURNS = 5
"""How often a read and the write that depends on it are begun anew when others are quicker."""


class KubernetesCluster:
    """`Cluster` on a real API server; `async with` opens and closes it."""

    def __init__(
        self,
        access: Access,
        *,
        timeout: float = 10.0,
        retries: Retries | None = None,
        gate: Callable[[], bool] = lambda: True,
        on_request: OnRequest = lambda _verb, _resource, _status, _seconds: None,
        page: int = PAGE,
    ) -> None:
        """`gate` is asked before every write: while it is closed, nothing is sent (NotLeadingError)."""
        self._wire = Wire(access, timeout=timeout, retries=retries, gate=gate, on_request=on_request)
        self._page = page

    async def __aenter__(self) -> Self:
        await self._wire.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._wire.close()

    async def list(
        self,
        resource: ResourceKind,
        namespace: str | None,
        *,
        labels: Mapping[str, str | None] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Manifests:
        """In pages, so that the API server never holds 10,000 objects for one answer."""
        target, query = Target(resource, namespace), requests.selectors(labels, fields)
        for _ in range(TURNS):
            found = await self._pages(target, query)
            if found is not None:
                return found
        raise UnreachableError(f"list {target} failed: it expired {TURNS} times before its last page was read")

    async def _pages(self, target: Target, query: Mapping[str, str]) -> Manifests | None:
        """All pages of one moment; None if the API server forgot that moment before we came to the end."""
        items: Manifests = []
        token = ""
        # items of built-in kinds come without the two
        kind = {"apiVersion": target.resource.api_version, "kind": target.resource.kind}
        while True:
            answer = await self._wire.send(requests.listing(target, query, self._page, token))
            if answer.status == 410 and token:
                return None
            body = answer.require()
            items += [{**kind, **item} for item in body["items"]]
            token = body["metadata"].get("continue") or ""
            if not token:
                return items

    async def serves(self, resource: ResourceKind, namespace: str | None) -> bool:
        """Whether there is such a kind, by the shortest of lists: for that we have the right anyway."""
        answer = await self._wire.send(requests.listing(Target(resource, namespace), {}, 1, ""))
        if answer.status == 404:
            return False
        answer.require()
        return True

    async def get(self, resource: ResourceKind, namespace: str | None, name: str) -> Manifest | None:
        """A 404 that names no object is an error: a kind that is not served must not look like a deleted object."""
        return await self._get(Target(resource, namespace, name))

    async def _get(self, target: Target, uid: str | None = None) -> Manifest | None:
        answer = await self._wire.send(requests.getting(target))
        if answer.missing(target.name):
            return None
        found = answer.require()
        return found if uid is None or found["metadata"]["uid"] == uid else None

    async def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Repeated until it is answered: twice is the same as once."""
        return (await self._wire.send(requests.applying(manifest, dry_run))).require()

    async def create(self, manifest: Manifest) -> Manifest:
        """Repeated only when it surely was not carried out."""
        return (await self._wire.send(requests.creating(manifest))).require()

    async def delete(
        self,
        resource: ResourceKind,
        namespace: str | None,
        name: str,
        *,
        uid: str,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bool:
        """A conflict says in words only whether the uid was the reason, so we look."""
        target = Target(resource, namespace, name)
        answer = await self._wire.send(requests.deleting(target, uid, propagation, grace_seconds))
        if answer.missing(name) or (answer.contended and await self._get(target, uid) is None):
            return False
        answer.require()
        return True

    async def patch_status(
        self,
        resource: ResourceKind,
        namespace: str | None,
        name: str,
        status: Manifest,
        *,
        uid: str,
        resource_version: str | None = None,
    ) -> Manifest | None:
        """After a conflict the object is read: it may be another one, or a newer version that is as good."""
        target = Target(resource, namespace, name)
        held = resource_version
        for turn in range(TURNS):
            if held is None:
                found = await self._get(target, uid)
                if found is None:
                    return None
                held = str(found["metadata"]["resourceVersion"])
            answer = await self._wire.send(requests.writing_status(target, status, uid, held))
            if answer.missing(name) or answer.other_uid:
                return None
            if not answer.contended:
                return answer.require()
            if resource_version is not None or turn == TURNS - 1:
                return None if await self._get(target, uid) is None else answer.require()
            held = None
        return None  # pragma: no cover -- the last turn returns or raises

    async def patch(
        self, resource: ResourceKind, namespace: str | None, name: str, patch: Manifest, *, uid: str
    ) -> Manifest | None:
        """Repeated until it is answered: a merge patch twice is the same as once."""
        answer = await self._wire.send(requests.merging(Target(resource, namespace, name), patch, uid))
        return None if answer.missing(name) or answer.other_uid else answer.require()

    async def add_finalizer(
        self, resource: ResourceKind, namespace: str | None, name: str, finalizer: str, *, uid: str
    ) -> Manifest | None:
        """Added at the end, once."""
        return await self._finalizers(
            Target(resource, namespace, name), uid, lambda found: [*found, *({finalizer} - {*found})]
        )

    async def remove_finalizer(
        self, resource: ResourceKind, namespace: str | None, name: str, finalizer: str, *, uid: str
    ) -> Manifest | None:
        """All others stay, in their order."""
        return await self._finalizers(
            Target(resource, namespace, name), uid, lambda found: [other for other in found if other != finalizer]
        )

    async def _finalizers(self, target: Target, uid: str, change: "Callable[[_Names], _Names]") -> Manifest | None:
        """A merge patch replaces the whole list, so it is bound to the version that the list was read from."""
        for turn in range(TURNS):
            found = await self._get(target, uid)
            if found is None:
                return None
            before = found["metadata"].get("finalizers") or []
            if (after := change(before)) == before:
                return found
            meta = {"finalizers": after, "resourceVersion": found["metadata"]["resourceVersion"]}
            answer = await self._wire.send(requests.merging(target, {"metadata": meta}, uid))
            if answer.missing(target.name) or answer.other_uid:
                return None
            if not answer.contended or turn == TURNS - 1:
                return answer.require()
        return None  # pragma: no cover -- the last turn returns or raises

    async def read_secret(self, namespace: str, name: str) -> SecretData | None:
        """Decoded here, and never part of an error: what is not text is left out."""
        found = await self._get(Target(SECRET, namespace, name))
        if found is None:
            return None
        values = {}
        for key, value in (found.get("data") or {}).items():
            try:
                values[key] = base64.b64decode(value).decode()
            except UnicodeDecodeError:
                continue
        return SecretData(values)


_Names = list[str]
