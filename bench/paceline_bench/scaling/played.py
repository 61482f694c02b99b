"""Days of very many runners, as `paceline simulate` plays them; kept beside the other results."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from paceline_bench.errors import BenchError
from paceline_bench.paceline_command import PROGRAM
from paceline_bench.site import group

FILE: Final = "scaling.json"
SIZES: Final = (100, 1_000, 9_000)
"""At the peak, by the mean; some more are needed at times."""
MOST: Final = 10_000
"""The largest maxReplicas of a group."""
HOUR: Final = 3600
SECONDS: Final = 1800.0
STARTUP: Final = "60s"


def curve(runners: int) -> str:
    """A day whose peak keeps so many one-slot runners at jobs of an hour."""
    return f"day:{runners / HOUR:.4f}/s"


def play(folder: Path, sizes: Sequence[int] = SIZES) -> Path:
    """Play them all and write down what came of it."""
    kept = [{"curve": curve(size), "service": "1h", "startup": STARTUP, **_play(size)} for size in sizes]
    file = folder / FILE
    file.write_text(json.dumps(kept, indent=2) + "\n")
    return file


def read(folder: Path) -> list[dict[str, Any]]:
    """What was played."""
    file = folder / FILE
    if not file.exists():
        raise BenchError(f"{FILE} is missing: run python -m paceline_bench scaling --play")
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


def _play(runners: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as scratch:
        file = Path(scratch) / "builds.json"  # which is YAML, too
        file.write_text(json.dumps(group("builds", 0, autoscaling={"maxReplicas": MOST})))
        words = [*PROGRAM, "simulate", str(file), "--curve", curve(runners), "--service", "1h", "--startup", STARTUP]
        done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode != 0:
        raise BenchError(f"paceline simulate failed: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout)[0]
    return {name: value for name, value in found.items() if name != "group"}
