"""What runners and the gateway tell each other, as JSON: the same for requests and for frames."""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from paceline.dialled import CONFIRM, Dialled, News
from paceline.job import KIND, TAG, Claimed, Fence, JobId

Number = Annotated[int, Field(ge=0, lt=2**63)]
Runs = Annotated[list[tuple[Number, Number]], Field(max_length=10_000)]
"""Pairs of id and fence."""
Kind = Annotated[str, Field(pattern=rf"^(\*|{KIND.pattern})$")]
Tag = Annotated[str, Field(pattern=f"^({TAG.pattern})$")]
SLOWEST: Final = 60
Cause = Literal["Failed", "TimedOut", "Crashed", "Cancelled", "BadPayload", "BadResult"]
Stuck = Literal["HandlerStuck"]
"""Why a runner gives up although it was not told to leave."""
MOST_AT_ONCE: Final = 100
"""Runs that are given in one answer: each may have a payload of 1 MiB."""


class Message(BaseModel):
    """What comes from a runner; fields of a later version are let pass."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Hello(Message):
    """Who a runner is, and what it can do."""

    kinds: list[Kind] = Field(min_length=1, max_length=1000, description='Kinds that it can do; ["*"] is every kind.')
    tags: list[Tag] = Field([], max_length=100)
    slots: int = Field(1, ge=1, le=10_000)
    heartbeat_seconds: float = Field(10, ge=1, le=SLOWEST, description="So often it can send a heartbeat.")
    hostname: str = Field("", max_length=253)
    revision: str | None = Field(None, max_length=253)


class Owner(Message):
    """Whose registration it is about."""

    incarnation: Number


class Leave(Message):
    """A runner leaves, or cannot go on."""

    cause: Stuck | None = Field(None, description="It cannot go on: what it has is lost, with one loss charged.")


class Heartbeat(Owner):
    """A runner lives, and has these runs."""

    runs: Runs = []


class About(Message):
    """What is said of a run."""

    fence: Number


class Complete(About):
    """It is done."""

    result: JsonValue = None
    output: str | None = None


class Fail(About):
    """It failed."""

    error: str
    retry_in_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="Without it, longer with every try."
    )
    final: bool = Field(False, description="Never again.")
    cause: Cause = Field("Failed", description="What kind of failure it was.")
    output: str | None = None


class HandBack(About):
    """Somebody else shall do it."""


class Progress(About):
    """How far it is."""

    value: JsonValue


class Extend(About):
    """It needs more time."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Log(About):
    """More of its output."""

    text: str


class Run(BaseModel):
    """A job that a runner is given."""

    id: int
    fence: int
    kind: str
    payload: JsonValue
    priority: int
    tries: int
    losses: int
    timeout_seconds: float | None
    traceparent: str | None
    waited_seconds: float


def run_text(job: Claimed, **more: str) -> str:
    """A `Run` as it is sent. Its payload goes on as the database wrote it: a number too large for us stays whole."""
    head = json.dumps({
        **more, "id": job.id, "fence": job.fence, "kind": job.kind, "priority": job.priority, "tries": job.tries,
        "losses": job.losses, "timeout_seconds": None if job.timeout_ms is None else job.timeout_ms / 1000,
        "traceparent": job.trace, "waited_seconds": round(job.waited, 6),
    })  # fmt: skip
    return f'{head[:-1]}, "payload": {job.body}}}'


class Welcome(BaseModel):
    """What a runner is told when it has registered."""

    incarnation: int
    runner: str
    pool: str
    state: Literal["active", "draining"]
    heartbeat_seconds: float
    lease_seconds: float
    confirm_seconds: float

    @classmethod
    def of(cls, made: Dialled, heartbeat: float) -> "Welcome":
        """From what the database answered."""
        return cls(
            incarnation=made.incarnation, runner=made.name, pool=made.pool_name,
            state="draining" if made.draining else "active", heartbeat_seconds=heartbeat,
            lease_seconds=made.lease.total_seconds(), confirm_seconds=CONFIRM.total_seconds(),
        )  # fmt: skip


class Beat(BaseModel):
    """The answer to a heartbeat."""

    verdict: str = Field(description="ok, draining or fenced")
    cancelled: list[int]
    refused: list[int] = Field(description="Runs that are not yours any more.")
    leave: bool
    cause: str | None
    lease_seconds: float | None

    @classmethod
    def of(cls, news: News) -> "Beat":
        """From what the database answered."""
        return cls(
            verdict=news.verdict, cancelled=sorted(news.cancelled), refused=sorted(news.refused), leave=news.leave,
            cause=news.cause, lease_seconds=None if news.lease is None else news.lease.total_seconds(),
        )  # fmt: skip


def held(runs: "list[tuple[int, int]]") -> dict[JobId, Fence]:
    """Runs as the SDK has them."""
    return {JobId(job): Fence(fence) for job, fence in runs}


def plain(model: BaseModel) -> dict[str, Any]:
    """As it is sent."""
    return model.model_dump(mode="json")
