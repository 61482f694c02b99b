"""Runs a program of the release; what it could not do is one line."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from paceline.testing.scratch import last_words
from paceline_dev.errors import DevError


def run(
    what: str, command: Sequence[str | Path], *, cwd: Path | None = None, stdin: str | None = None, epoch: int = 0
) -> str:
    """What it says on stdout; `epoch` is the time of what it makes, `what` names it in an error."""
    variables = {"SOURCE_DATE_EPOCH": str(epoch), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables}, input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = [last_words(text) for text in (done.stdout, done.stderr) if text.strip()]
        raise DevError(f"{what}: {': '.join(said) or f'{command[0]} ended with {done.returncode}'}")
    return done.stdout
