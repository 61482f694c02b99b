"""Who among several operators acts: the holder of a Lease.

No clock but each one's own monotonic one is believed. A Lease is over when it has not changed for as long as it says,
counted from when we saw the last change: a skewed clock, or a time that somebody wrote by hand, misleads nobody.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from paceline_operator.api.schema import JsonDict

DURATION: Final = 8.0
RENEW_WITHIN: Final = 5.0
"""So long after its last renewal was sent a holder may act; the rest of the duration is for what is in flight."""
RETRY: Final = 1.0
LONGEST: Final = 60.0
"""No Lease is waited for longer, whatever it says."""
ADDRESS: Final = "paceline.dev/address"
"""The annotation that says where the holder listens, as HOST:PORT."""
_AT: Final = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")


@dataclass(frozen=True, slots=True)
class LeaseSeen:
    """A Lease as it was read."""

    holder: str
    duration: float
    version: str
    uid: str
    transitions: int = 0
    acquired: str | None = None
    address: str = ""
    """Where its holder listens; empty if it does not say."""


def read_lease(found: Mapping[str, Any]) -> LeaseSeen:
    """A Lease; what somebody left out or wrote by hand is made sense of."""
    meta, spec = found["metadata"], found.get("spec") or {}
    said = spec.get("leaseDurationSeconds")
    return LeaseSeen(
        holder=spec.get("holderIdentity") or "",
        duration=min(float(said), LONGEST) if isinstance(said, int) and said > 0 else DURATION,
        version=meta["resourceVersion"],
        uid=meta["uid"],
        transitions=int(spec.get("leaseTransitions") or 0),
        acquired=spec.get("acquireTime"),
        address=said_at if _AT.fullmatch(said_at := (meta.get("annotations") or {}).get(ADDRESS, "")) else "",
    )


class Patience:
    """Watches a Lease that somebody else holds."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._last: LeaseSeen | None = None
        self._since = 0.0

    def may_take(self, lease: LeaseSeen | None, me: str, now: float) -> bool:
        """Whether it is ours to take, as seen now. One that was deleted under its holder is waited for too."""
        if lease is not None and (self._last is None or lease.version != self._last.version):
            self._last, self._since = lease, now
        held = lease or self._last
        if held is None or held.holder in ("", me):
            return True
        return now - self._since >= held.duration


def build_lease(
    namespace: str, name: str, holder: str, old: LeaseSeen | None, *, duration: float = DURATION, address: str = ""
) -> JsonDict:
    """The Lease with its new holder, or renewed by the old one; it must be the one that was seen."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    meta: JsonDict = {"name": name, "namespace": namespace, "annotations": {ADDRESS: address}}
    same = old is not None and old.holder == holder
    if old is not None:
        meta |= {"uid": old.uid, "resourceVersion": old.version}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta,
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(duration),
            "acquireTime": old.acquired if old is not None and same and old.acquired else now,
            "renewTime": now,
            "leaseTransitions": 0 if old is None else old.transitions + (not same),
        },
    }
