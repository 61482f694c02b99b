"""Build what is in a repository. Whatever a build leaves behind goes with its pod."""

import os
import socket
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from paceline import Context, Exponential, Jobs

WORKSPACE = Path(tempfile.gettempdir(), "build")
jobs = Jobs()


class Build(BaseModel):
    """What to build, and how."""

    repository: Annotated[str, Field(pattern=r"^[^-]")]
    revision: Annotated[str, Field(pattern=r"^[^-]")] = "HEAD"
    command: Annotated[list[str], Field(min_length=1)] = ["make"]


class Built(BaseModel):
    """What was built, and where."""

    commit: str
    pod: str


class BuildError(Exception):
    """The build itself failed, or this is no place for it: the same again would fail again."""


@jobs.handler(
    "build.run",
    isolation="process",
    retry=Exponential(base=timedelta(seconds=10), stop_on=(BuildError,)),
    timeout=timedelta(hours=1),
)
def run(build: Build, context: Context) -> Built:
    """In a process of its own: a timeout, a cancel or the runner's end kills it with all that it has started."""
    try:
        WORKSPACE.mkdir()
    except FileExistsError:
        raise BuildError(f"{WORKSPACE} is there already: somebody has built here before") from None
    context.log.info("fetching %s of %s", build.revision, build.repository)
    git("init", "--quiet")
    git("fetch", "--quiet", "--depth", "1", build.repository, build.revision)
    git("checkout", "--quiet", "FETCH_HEAD")
    done = subprocess.run(build.command, cwd=WORKSPACE, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(build.command)} ended with {done.returncode}")
    return Built(commit=git("rev-parse", "HEAD"), pod=os.environ.get("PACELINE_POD_NAME", socket.gethostname()))


def git(*words: str) -> str:
    """What git says; a server that does not answer is worth another try."""
    done = subprocess.run(["git", *words], cwd=WORKSPACE, check=True, capture_output=True, text=True)
    return done.stdout.strip()
