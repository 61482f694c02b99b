"""Events: what happened to an object, for `kubectl describe` and `kubectl events`, without flooding etcd.

In the API `events.k8s.io/v1`: kubectl 1.36 shows its events and their series like those of the older core API.
"""

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from paceline_operator.ports.cluster import Cluster, Manifest
from paceline_operator.ports.errors import ClusterError
from paceline_operator.ports.events import EventType
from paceline_operator.ports.resources import EVENT

log = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")

CONTROLLER = "paceline.dev/operator"
SAME_SECONDS = 600.0
"""For how long after the last time the same words about the same object count as the same event."""
UPDATE_SECONDS = 60.0
BURST = 25
REFILL_SECONDS = 5.0
"""One more event per object every five seconds; the burst is client-go's."""
LONGEST_MESSAGE = 1024
"""The API server counts bytes."""
LONGEST_NAME = 253
KEPT = 4096
"""How many series and buckets are remembered: 4,096 of both are about 2 MB."""
POST_SECONDS = 5.0
"""An event is not worth more of the caller's time."""


@dataclass(slots=True)
class Series:
    """One event that was posted, and how often it has happened since."""

    seen: float
    written: float
    count: int = 1
    name: str = ""
    uid: str = ""


@dataclass(slots=True)
class Bucket:
    """How many more events an object may have."""

    tokens: float
    filled: float

    def take(self, now: float) -> bool:
        """Take one, if there is one."""
        self.tokens = min(float(BURST), self.tokens + max(0.0, now - self.filled) / REFILL_SECONDS)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Events:
    """Posts events through the port, so the gate holds for them as well."""

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`instance` is the name of the operator's pod; `clock` measures, `now` is what people read."""
        self._cluster = cluster
        self._instance = instance[:128] or "unknown"
        self._clock = clock
        self._now = now
        self._series: OrderedDict[tuple[str, ...], Series] = OrderedDict()
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    async def post(self, about: Manifest, type_: EventType, reason: str, message: str, action: str) -> None:
        """Post it, or count it if it was said before; a failure is a line in the log."""
        try:
            async with asyncio.timeout(POST_SECONDS):
                await self._post(about, type_, reason, cut(message), action)
        except TimeoutError:
            log.warning("event %s was not posted within %.0f s: %s", reason, POST_SECONDS, message)
        except ClusterError as error:
            log.warning("event %s was not posted: %s; it says: %s", reason, error, message)
        except Exception:
            # an event about a broken object must not stop the loop that wants to repair the object
            log.exception("event %s was not posted; it says: %s", reason, message)

    async def _post(self, about: Manifest, type_: EventType, reason: str, note: str, action: str) -> None:
        clock = self._clock()
        regarding = _reference(about)
        whom = regarding["uid"] or "/".join(regarding.values())
        key = (whom, type_, reason, note)
        series = self._series.get(key)
        if series and clock - series.seen < SAME_SECONDS and await self._again(series, regarding, clock):
            return
        if not self._bucket(whom, clock).take(clock):
            log.info("event %s about %s %s is one too many: %s", reason, regarding["kind"], regarding["name"], note)
            return
        # remembered before the first await: a second voice at the same moment counts, and posts nothing
        series = _keep(self._series, key, Series(seen=clock, written=clock))
        try:
            made = await self._cluster.create(self._event(regarding, type_, reason, note, action))
        except BaseException:
            self._series.pop(key, None)
            raise
        series.name, series.uid = made["metadata"]["name"], made["metadata"]["uid"]

    async def _again(self, series: Series, regarding: dict[str, str], clock: float) -> bool:
        """Count it, and write the count when the last write is long enough ago; False if the event is gone."""
        series.count += 1
        series.seen = clock
        if clock - series.written < UPDATE_SECONDS or not series.name:
            return True
        series.written = clock
        patch = {"series": {"count": series.count, "lastObservedTime": _micro(self._now())}}
        return await self._cluster.patch(EVENT, _home(regarding), series.name, patch, uid=series.uid) is not None

    def _bucket(self, whom: str, clock: float) -> Bucket:
        return _keep(self._buckets, whom, self._buckets.get(whom) or Bucket(BURST, clock))

    def _event(self, regarding: dict[str, str], type_: EventType, reason: str, note: str, action: str) -> Manifest:
        suffix = f".{secrets.token_hex(8)}"
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "name": regarding["name"][: LONGEST_NAME - len(suffix)].rstrip(".-") + suffix,
                "namespace": _home(regarding),
            },
            "eventTime": _micro(self._now()),
            "type": type_,
            "reason": reason,
            "action": action,
            "note": note,
            "regarding": {key: value for key, value in regarding.items() if value},
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
        }


def cut(message: str) -> str:
    """At most 1,024 bytes, never half a character, with an ellipsis where something is missing."""
    raw = message.encode()
    if len(raw) <= LONGEST_MESSAGE:
        return message
    return raw[: LONGEST_MESSAGE - len("…".encode())].decode(errors="ignore") + "…"


def _reference(about: Manifest) -> dict[str, str]:
    meta = about["metadata"]
    return {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta.get("uid", ""),
    }


def _home(regarding: dict[str, str]) -> str:
    """Events about objects without a namespace live in `default`: kubectl looks for them there."""
    return regarding["namespace"] or "default"


def _micro(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _keep(memory: OrderedDict[K, V], key: K, value: V) -> V:
    """Remember it as the newest, and forget the oldest beyond the limit."""
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > KEPT:
        memory.popitem(last=False)
    return value
