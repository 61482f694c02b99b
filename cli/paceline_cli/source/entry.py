"""Cron entries in the words of the HTTP API, without the gateway's models: who dials need not have one installed."""

import json
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter

from paceline.cron import CronEntry, CronStatus
from paceline.job import NewJob

SAME: Final = ("kind", "payload", "priority", "key", "key_limit", "dedupe", "max_tries", "max_losses")
"""Called the same here and there."""
SPANS: Final = {"delay": "delay_seconds", "expires_in": "expires_in_seconds", "timeout": "timeout_seconds"}
MOMENT: Final = TypeAdapter(datetime | None)


def told(entry: CronEntry) -> dict[str, JsonValue]:
    """As it is put."""
    spans = {there: getattr(entry.job, here) for here, there in SPANS.items()}
    job: dict[str, JsonValue] = {
        **{name: getattr(entry.job, name) for name in SAME},
        **{name: None if span is None else span.total_seconds() for name, span in spans.items()},
        "tags": [*entry.job.tags], "tolerations": [*entry.job.tolerations],
    }  # fmt: skip
    return {
        "schedule": entry.schedule, "timezone": entry.timezone, "overlap": entry.overlap, "stamp": entry.stamp,
        "job": job,
    }  # fmt: skip


def status(seen: dict[str, Any]) -> CronStatus:
    """As it stands, with the job as the database keeps it: an SDK that puts it again would write the same."""
    job = seen["job"]
    given: dict[str, Any] = {name: job[name] for name in SAME}
    for here, there in SPANS.items():
        given[here] = None if job[there] is None else timedelta(seconds=job[there])
    entry = CronEntry(
        name=seen["name"], schedule=seen["schedule"], timezone=seen["timezone"], overlap=seen["overlap"],
        stamp=seen["stamp"],
        job=NewJob(**given, tags=tuple(job["tags"]), tolerations=tuple(job["tolerations"])),
    )  # fmt: skip
    next_at = MOMENT.validate_python(seen["next_at"])
    assert next_at is not None
    return CronStatus(
        entry.name, entry.schedule, entry.timezone, json.loads(entry.body), next_at,
        MOMENT.validate_python(seen["last_at"]), seen["paused"],
    )  # fmt: skip
