"""The Kubernetes API as the operator wants it: few verbs, JSON in and out, safe to repeat, harmless when late.

A late or repeated request must do no harm. So whatever changes or removes an object names its uid, and reaches
nothing when another object has taken the name; what is written is written by server-side apply wherever others write
too. Every call may raise a `ClusterError`; its subclasses say what the caller can do.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol

from paceline_operator.ports.resources import ResourceKind

Manifest = dict[str, Any]
"""An object of the API as parsed JSON. Models with fixed fields would lose what a newer cluster added."""

Manifests = list[Manifest]
Propagation = Literal["Background", "Foreground", "Orphan"]


class SecretData(Mapping[str, str]):
    """The decoded values of a Secret, by key. Shows its keys only, so a log line cannot give them away."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Keep a copy."""
        self._values = dict(values)

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"SecretData({', '.join(sorted(self._values))})"


class Cluster(Protocol):
    """What the operator asks of the API server."""

    async def list(
        self,
        resource: ResourceKind,
        namespace: str | None,
        *,
        labels: Mapping[str, str | None] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Manifests:
        """All objects as of now, never from an old cache. A label with the value None must exist, whatever it says."""
        ...

    async def get(self, resource: ResourceKind, namespace: str | None, name: str) -> Manifest | None:
        """One object as of now; None if there is none. A kind that the API server does not know is a RefusedError."""
        ...

    async def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Make the object have these fields, by server-side apply, and return what it is now.

        A field that we sent before and no longer send is removed; fields of others stay. With a uid or a
        resourceVersion in its metadata the object must be that one, or it is a ConflictError. A dry run checks
        everything and stores nothing.
        """
        ...

    async def create(self, manifest: Manifest) -> Manifest:
        """Create it; AlreadyExistsError if the name is taken. Repeated only when it surely was not carried out."""
        ...

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
        """Delete exactly this object; False if it is gone, or another one has its name."""
        ...

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
        """Make our part of the status this, all of it; None if the object is gone or another one has its name.

        Fields and conditions of other writers stay; ours that are no longer in `status` go. With a
        `resource_version` the object must be unchanged since (ConflictError if not); without it one read more is
        made, and only the uid counts.
        """
        ...

    async def patch(
        self, resource: ResourceKind, namespace: str | None, name: str, patch: Manifest, *, uid: str
    ) -> Manifest | None:
        """JSON merge patch, for single labels and annotations; None if the object is gone or is another one."""
        ...

    async def add_finalizer(
        self, resource: ResourceKind, namespace: str | None, name: str, finalizer: str, *, uid: str
    ) -> Manifest | None:
        """Let the object not go before we agree; None if it is gone or is another one. Others' finalizers stay."""
        ...

    async def remove_finalizer(
        self, resource: ResourceKind, namespace: str | None, name: str, finalizer: str, *, uid: str
    ) -> Manifest | None:
        """Agree that the object goes; None if it is gone or is another one."""
        ...

    async def read_secret(self, namespace: str, name: str) -> SecretData | None:
        """The values of a Secret; None if there is none. A value that is not text is left out."""
        ...
