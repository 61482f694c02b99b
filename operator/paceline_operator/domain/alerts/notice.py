"""What is told about an alert, and the forms in which receivers take it."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from paceline_operator.api.schema import JsonDict

VERSION: Final = "4"
"""Of the form that Alertmanager's webhooks have."""
NEVER: Final = "0001-01-01T00:00:00Z"
"""How Alertmanager writes the end of what has not ended."""
_OFFSET, _PRIME, _SEPARATOR = 14695981039346656037, 1099511628211, b"\xff"
"""Of the 64-bit FNV-1a hash."""

Ident = tuple[str, str, datetime, datetime | None]
"""Which alert, what of it, of which time, and when it was told before: the same is told once."""


class Form(StrEnum):
    """What the body of a request looks like."""

    ALERTMANAGER = "alertmanager"
    SLACK = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """That an alert fires, still does, or is over."""

    name: str
    labels: Mapping[str, str]
    summary: str
    description: str
    starts_at: datetime
    ends_at: datetime | None = None
    told_at: datetime | None = None
    """When it was told before; None: never."""
    page: str = ""
    """Where to read on; empty: its runbook."""

    @property
    def status(self) -> Literal["firing", "resolved"]:
        """In Alertmanager's words."""
        return "firing" if self.ends_at is None else "resolved"

    @property
    def fingerprint(self) -> str:
        """The one that Prometheus gives to these labels: receivers tell alerts apart by it."""
        parts = (part.encode() + _SEPARATOR for pair in sorted(self.labels.items()) for part in pair)
        return f"{functools.reduce(_mix, b''.join(parts), _OFFSET):016x}"

    @property
    def ident(self) -> Ident:
        """What makes it another notice than those before."""
        return self.fingerprint, self.status, self.starts_at, self.told_at

    def annotations(self, runbooks: str) -> dict[str, str]:
        """For people; `runbooks` is where they read the repository."""
        page = self.page or f"docs/runbooks/{self.name}.md"
        return {"summary": self.summary, "description": self.description, "runbook_url": f"{runbooks}{page}"}


def _mix(sum_: int, byte: int) -> int:
    return (sum_ ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF


def write(form: Form, notices: Sequence[Notice], receiver: str, runbooks: str = "") -> JsonDict:
    """The body of a request about some notices of one alert."""
    return as_slack(notices, runbooks) if form is Form.SLACK else as_alertmanager(notices, receiver, runbooks)


def as_alertmanager(notices: Sequence[Notice], receiver: str, runbooks: str = "") -> JsonDict:
    """As Alertmanager posts it: whatever takes that takes this."""
    name = notices[0].name
    return {
        "version": VERSION,
        "groupKey": f'{{}}:{{alertname="{name}"}}',
        "truncatedAlerts": 0,
        "status": "firing" if any(each.status == "firing" for each in notices) else "resolved",
        "receiver": receiver,
        "groupLabels": {"alertname": name},
        "commonLabels": _common([each.labels for each in notices]),
        "commonAnnotations": _common([each.annotations(runbooks) for each in notices]),
        "externalURL": "",
        "alerts": [
            {
                "status": each.status,
                "labels": dict(each.labels),
                "annotations": dict(each.annotations(runbooks)),
                "startsAt": _moment(each.starts_at),
                "endsAt": NEVER if each.ends_at is None else _moment(each.ends_at),
                "generatorURL": "",
                "fingerprint": each.fingerprint,
            }
            for each in notices
        ],
    }


def as_slack(notices: Sequence[Notice], runbooks: str = "") -> JsonDict:
    """As Slack's incoming webhooks take it, and those of others that do as Slack does."""
    told = [
        f"*{'Over' if each.ends_at else each.labels['severity'].capitalize()}: {_plain(each.summary)}*\n"
        + (f"since {_moment(each.starts_at)}" if each.ends_at else _plain(each.description))
        for each in notices
    ]
    return {"text": "\n".join([*told, notices[0].annotations(runbooks)["runbook_url"]])}


def _plain(text: str) -> str:
    """Slack reads these three as its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _common(found: Sequence[Mapping[str, str]]) -> JsonDict:
    return {key: value for key, value in found[0].items() if all(each.get(key) == value for each in found)}


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
