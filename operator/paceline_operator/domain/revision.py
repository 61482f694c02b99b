"""Which revision a group's pods are made from: a new one whenever something that a pod is made of changes.

Each is kept as a ControllerRevision, so that a pod of an older one can still be made.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from paceline_operator.api.schema import JsonDict
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.names import LABEL_REVISION, RESTARTED_AT, WATCHED_SINCE

FIELDS: Final = ("template", "slots", "tags", "database", "drain")
"""What of a spec a pod is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionSeen:
    """A revision that is kept."""

    name: str
    """The short one, which is on pods and in statuses."""
    number: int = 1
    """Grows with each that comes into use."""
    made_of: JsonDict = field(default_factory=dict)
    watched_since: datetime | None = None
    """When its first runners, the canary, were all at work; None while they are not."""
    uid: str = ""


def made_of(group: RunnerGroup) -> JsonDict:
    """Template, slots, tags, database and drain, and when somebody last asked for a restart."""
    spec = group.spec
    found: JsonDict = {
        "template": spec.template,
        "slots": spec.slots,
        "tags": list[JsonValue](sorted(spec.tags)),
        "database": spec.database.model_dump(mode="json", by_alias=True),
        "drain": spec.drain.model_dump(mode="json", by_alias=True),
    }
    if restarted := group.metadata.annotations.get(RESTARTED_AT):
        found["restartedAt"] = restarted
    return found


def name_of(made: Mapping[str, Any]) -> str:
    """A short name; the same for the same."""
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:10]


def revision_of(group: RunnerGroup) -> str:
    """The one that a group's spec describes."""
    return name_of(made_of(group))


def as_of(group: RunnerGroup, made: Mapping[str, Any]) -> RunnerGroup:
    """The group as it would be if its spec were still that of a revision."""
    spec = group.spec.model_dump(mode="json", by_alias=True)
    spec.update({each: made[each] for each in FIELDS if each in made})
    meta = group.metadata
    annotations = {key: value for key, value in meta.annotations.items() if key != RESTARTED_AT}
    if restarted := made.get("restartedAt"):
        annotations[RESTARTED_AT] = restarted
    return group.model_copy(
        update={
            "spec": type(group.spec).model_validate(spec),
            "metadata": meta.model_copy(update={"annotations": annotations}),
        }
    )


def read_revision(manifest: Mapping[str, Any]) -> RevisionSeen:
    """A ControllerRevision of ours."""
    meta = manifest["metadata"]
    since = (meta.get("annotations") or {}).get(WATCHED_SINCE)
    return RevisionSeen(
        name=(meta.get("labels") or {}).get(LABEL_REVISION, ""),
        number=int(manifest.get("revision", 0)),
        made_of=dict(manifest.get("data") or {}),
        watched_since=datetime.fromisoformat(since) if since else None,
        uid=meta["uid"],
    )


def target_of(group: RunnerGroup) -> str:
    """Where runners are going: the revision of the spec, unless that has failed."""
    wanted, status = revision_of(group), group.status
    back = status.failed_revision == wanted and status.current_revision and group.spec.update_strategy.auto_rollback
    return status.current_revision if back and status.current_revision else wanted
