"""Work for GPUs, and work that must not sit on one."""

import os
import random
from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, Field, PositiveInt

from paceline import Context, Exponential, Jobs

DEVICE = os.environ.get("NVIDIA_VISIBLE_DEVICES", "none")
STEP = 0.01
jobs = Jobs()

Point = tuple[float, float]


class Training(BaseModel):
    """A line to be found through points."""

    points: Annotated[list[Point], Field(min_length=2)]
    epochs: PositiveInt = 100


class Model(BaseModel):
    """The line, and on what it was found."""

    slope: float
    loss: float
    device: str


@jobs.handler("points.make")
def make(count: PositiveInt) -> list[Point]:
    """No GPU is needed: it asks for none, and does not tolerate theirs."""
    return [(x, 2 * x + random.uniform(-0.1, 0.1)) for x in (random.uniform(0, 1) for _ in range(count))]  # noqa: S311


@jobs.handler(
    "model.train",
    isolation="process",
    retry=Exponential(base=timedelta(seconds=30)),
    timeout=timedelta(hours=4),
)
def train(training: Training, context: Context) -> Model:
    """In a process of its own: its end gives all of the GPU's memory back, and a crash of the driver is one failed try.

    A real one would load its framework here, inside of the function, and save a checkpoint where it tells its progress.
    """
    slope = loss = 0.0
    for epoch in range(1, training.epochs + 1):
        if context.should_stop:
            raise InterruptedError(f"told to stop after {epoch - 1} epochs")
        errors = [(slope * x - y, x) for x, y in training.points]
        loss = sum(error * error for error, _ in errors) / len(errors)
        slope -= STEP * sum(2 * error * x for error, x in errors)
        context.progress({"epoch": epoch, "of": training.epochs, "loss": loss})
    return Model(slope=slope, loss=loss, device=DEVICE)
