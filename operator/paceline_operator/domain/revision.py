"""Which revision a group's pods are made from: a new one whenever something that a pod is made of changes."""

import hashlib
import json

from paceline_operator.api.v1alpha1 import RunnerGroup


def revision_of(group: RunnerGroup) -> str:
    """A short name for template, slots, tags, lifetime in jobs, database and drain; the same for the same."""
    spec = group.spec
    made_of = {
        "template": spec.template,
        "slots": spec.slots,
        "tags": sorted(spec.tags),
        "database": spec.database.model_dump(mode="json", by_alias=True),
        "drain": spec.drain.model_dump(mode="json", by_alias=True),
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:10]
