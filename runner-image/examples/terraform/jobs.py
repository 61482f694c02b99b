"""Make what there is what there shall be: one apply at a time, whoever leads."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from paceline import Context, Exponential, Jobs
from state import StaleError, Store

STATE = Path(os.environ.get("INFRA_STATE", "state"))
TARGET = Path(os.environ.get("INFRA_TARGET", "made"))
jobs = Jobs()

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]


class File(BaseModel):
    """A resource: here a file, as `local_file` of Terraform makes one."""

    content: str
    after: Name | None = None
    """Something in the same place that somebody else makes, and that must be there first."""


class Config(BaseModel):
    """What there shall be in a workspace, and nothing else."""

    workspace: Name
    files: dict[Name, File]


class Applied(BaseModel):
    """What was changed."""

    made: list[str] = []
    deleted: list[str] = []


@jobs.handler(
    "infra.apply",
    retry=Exponential(base=timedelta(seconds=10), stop_on=(StaleError,)),
    timeout=timedelta(minutes=30),
)
async def apply(config: Config, context: Context) -> Applied:
    """The state is saved after each resource: whoever takes over goes on where this one was.

    A cancel ends it where it waits, between two resources.
    """
    store = Store(STATE / f"{config.workspace}.json", context.fence)
    there = store.take().files
    wanted = {name: file.content for name, file in config.files.items()}
    done = Applied()
    folder = TARGET / config.workspace
    folder.mkdir(parents=True, exist_ok=True)
    for name in [name for name in there if name not in wanted]:
        (folder / name).unlink(missing_ok=True)
        del there[name]
        store.save(there)
        done.deleted.append(name)
    for name in [name for name in wanted if there.get(name) != wanted[name]]:
        if after := config.files[name].after:
            await made_by_others(folder / after)
        store.take()  # who has waited may be late
        (folder / name).write_text(wanted[name])
        there[name] = wanted[name]
        store.save(there)
        done.made.append(name)
        context.progress({"made": len(done.made), "deleted": len(done.deleted)})
    return done


async def made_by_others(path: Path) -> None:
    """Wait for what is outside of our hands."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240 -- nobody tells us
        await asyncio.sleep(0.1)
