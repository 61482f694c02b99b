"""A day of a million jobs, as `paceline simulate` plays it."""

import asyncio
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement
from paceline_bench.paceline_command import PROGRAM
from paceline_bench.scaled import block
from paceline_bench.site import group

NAME: Final = "simulate_million"
JOBS: Final = 1_000_000
CURVE: Final = "day:23.2/s"
"""Nothing at 02:00, the peak at 14:00; half of the peak on average, and so a million in 24 hours."""
SECONDS: Final = 300.0


async def simulate(jobs: int, curve: str) -> list[Measurement]:
    """Seconds of the whole command, with its imports and the making up of the jobs."""
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        file = Path(folder) / "builds.json"  # which is YAML, too
        file.write_text(json.dumps(group("builds", 0, autoscaling=block(500))))
        began = time.monotonic()
        said = await asyncio.to_thread(_command, file, curve)
        took = time.monotonic() - began
    check(json.loads(said)[0], jobs)
    return [Measurement(NAME, took, "s")]


def check(played: dict[str, float], jobs: int) -> None:
    """A day with fewer jobs, or one whose jobs are not done, is not the day that was promised."""
    if played["jobs"] < jobs:
        raise NotMeasuredError(f"only {played['jobs']:,} of {jobs:,} jobs were made up")
    if played["unfinished"]:
        raise NotMeasuredError(f"{played['unfinished']:,} jobs were not done at the end")


def _command(file: Path, curve: str) -> str:
    words = [*PROGRAM, "simulate", str(file), "--curve", curve, "--json"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise NotMeasuredError(f"paceline simulate took more than {SECONDS:g} s") from None
    if done.returncode != 0:
        raise NotMeasuredError("paceline simulate failed")
    return done.stdout
