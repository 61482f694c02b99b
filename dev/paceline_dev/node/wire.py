"""The shape of what the API server says. Adapters read it; everything behind them gets dataclasses."""

import datetime
from typing import Any

Json = dict[str, Any]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
"""The start of a container that never started, as container runtimes report it."""


def stamp(moment: datetime.datetime) -> str:
    """A moment as the API writes it, in whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: datetime.datetime) -> str:
    """A moment as Leases write it, in microseconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str | None) -> datetime.datetime:
    """The moment that the API wrote down; the epoch if it wrote none."""
    return datetime.datetime.fromisoformat(text) if text else EPOCH


def moment_of(seconds: float) -> datetime.datetime:
    """A moment by the seconds since the epoch."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def now() -> datetime.datetime:
    """This moment."""
    return datetime.datetime.now(datetime.UTC)
