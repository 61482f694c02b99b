"""The frames of the WebSocket, and how one is read. What cannot be understood is answered."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from paceline_gateway.runners.runs import (
    Complete,
    Extend,
    Fail,
    HandBack,
    Hello,
    Leave,
    Log,
    Message,
    Number,
    Progress,
    Runs,
)

LARGEST: Final = 2 * 2**20
"""Bytes of a frame: a result of 1 MiB, escaped."""


class Resume(Message):
    """A registration that a runner had before its socket dropped."""

    incarnation: Number
    runs: Runs = Field([])
    only: bool = Field(False, description="If it has ended, say so: do not register anew.")


class HelloFrame(Hello):
    """The first frame."""

    type: Literal["hello"]
    resume: Resume | None = None


class Ready(Message):
    """So many runs can come."""

    type: Literal["ready"]
    want: int = Field(ge=0, le=10_000)


class HeartbeatFrame(Message):
    """It lives, and has these runs."""

    type: Literal["heartbeat"]
    runs: Runs = Field([])


class RunFrame(Message):
    """It is about a run."""

    id: Number


class CompleteFrame(Complete, RunFrame):
    """As its request."""

    type: Literal["complete"]


class FailFrame(Fail, RunFrame):
    """As its request."""

    type: Literal["fail"]


class HandBackFrame(HandBack, RunFrame):
    """As its request."""

    type: Literal["hand_back"]


class ProgressFrame(Progress, RunFrame):
    """As its request."""

    type: Literal["progress"]


class ExtendFrame(Extend, RunFrame):
    """As its request."""

    type: Literal["extend"]


class LogFrame(Log, RunFrame):
    """As its request."""

    type: Literal["log"]


class Drain(Message):
    """Claim nothing for it any more."""

    type: Literal["drain"]


class Goodbye(Leave):
    """As its request."""

    type: Literal["goodbye"]


Report = CompleteFrame | FailFrame | HandBackFrame | ProgressFrame | ExtendFrame | LogFrame
Frame = Annotated[Ready | HeartbeatFrame | Report | Drain | Goodbye, Field(discriminator="type")]
FRAME: Final[TypeAdapter[Any]] = TypeAdapter(Frame)
HELLO: Final = TypeAdapter(HelloFrame)


class BadFrameError(Exception):
    """A frame that cannot be understood; the message says why."""


def read_frame(text: str, kind: TypeAdapter[Any] = FRAME) -> Any:
    """A frame as a value. The parser ends at 200 levels of nesting, and knows no lone surrogates."""
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise BadFrameError(f"{where}: {first['msg']}") from None
