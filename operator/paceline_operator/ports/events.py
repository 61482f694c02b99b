"""Telling people what happened to an object, where `kubectl describe` shows it."""

from typing import Literal, Protocol

from paceline_operator.ports.cluster import Manifest

EventType = Literal["Normal", "Warning"]


class EventSink(Protocol):
    """Where events go."""

    async def post(self, about: Manifest, type_: EventType, reason: str, message: str, action: str) -> None:
        """Say it once; never fails, and never keeps the caller waiting for long."""
        ...
