"""What producers get back, as JSON. Names are the SDK's; a job's id is a number of 64 bits."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from paceline.seen import EndState, LiveState


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


class View(BaseModel):
    """An answer, made from what the SDK says."""

    model_config = ConfigDict(from_attributes=True)


class EnqueuedView(View):
    """Where a job went."""

    id: int = Field(description="A number of 64 bits.")
    created: bool = Field(description="False: it was there already (dedupe, or an idempotency key).")


class EnqueuedMany(View):
    """Where many jobs went, in their order."""

    jobs: list[EnqueuedView]


class JobView(View):
    """A job, wherever it is. What a place does not keep is null: history has no payload."""

    id: int
    pool: str
    kind: str
    state: LiveState | EndState
    priority: int
    tags: Sequence[str] | None
    tolerations: Sequence[str] | None
    key: str | None
    dedupe: str | None
    enqueued_at: datetime
    run_at: datetime | None
    ready_at: datetime | None
    claimed_at: datetime | None
    expires_at: datetime | None
    finished_at: datetime | None = None
    tries: int
    max_tries: int | None
    losses: int
    max_losses: int | None
    timeout_seconds: Annotated[float | None, BeforeValidator(_seconds)] = Field(
        None, validation_alias="timeout_ms", description="How long one attempt may take."
    )
    fence: int | None = Field(None, description="Of the last claim.")
    runner: str | None = Field(description="The Runner that has it, or had it last.")
    cancelling: bool = Field(description="It runs, and its runner is told to stop it.")
    deadline: datetime | None = Field(None, description="When the attempt that runs times out.")
    progress: JsonValue = None
    payload: JsonValue = None
    result: JsonValue = None
    cause: str | None = Field(None, description="Of a dead letter, in one word.")
    error: str | None = None
    traceparent: str | None = Field(None, validation_alias="trace")


class AttemptView(View):
    """One try of a job that did not simply succeed, or that left output."""

    fence: int
    started_at: datetime | None
    ended_at: datetime | None = Field(description="Null: it runs.")
    runner: str | None
    revision: str | None
    outcome: str | None = Field(description="done, failed, lost, handed_back or cancelled")
    cause: str | None
    error: str | None
    output: str | None = Field(description="The last 64 KiB of what it wrote.")


class DeadView(View):
    """A dead letter."""

    id: int
    pool: str
    kind: str
    died_at: datetime
    cause: str
    error: str | None
    enqueued_at: datetime
    priority: int
    tags: Sequence[str]
    tolerations: Sequence[str]
    key: str | None
    dedupe: str | None
    tries: int
    max_tries: int
    losses: int
    max_losses: int
    payload: JsonValue


class PoolView(View):
    """A pool, and how much is in it."""

    name: str
    install: str | None = Field(description="Whose it is; null while no RunnerGroup has served it.")
    namespace: str | None
    paused: bool
    max_depth: int | None = Field(description="At so many waiting jobs enqueue is refused; null: never.")
    rate: float | None
    burst: float | None
    groups: int
    runners: int = Field(description="That are registered and alive.")
    ready: int
    running: int
    scheduled: int
    blocked: int
    unclaimable: int
    dead: int
    capped: bool = Field(description="One of the counts ended at 10,000.")
