"""kubectl, as a user would type it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline_dev.errors import DevError


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One kubectl bound to one kubeconfig."""

    program: Path
    kubeconfig: Path

    def run(self, *args: str, stdin: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run it; a failure is an error with kubectl's own words, unless the caller wants to look at it."""
        done = subprocess.run(
            [self.program, *args],
            input=stdin,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise DevError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done

    def json(self, *args: str) -> dict[str, Any]:
        """What `-o json` prints, parsed."""
        parsed: dict[str, Any] = json.loads(self.run(*args, "-o", "json").stdout)
        return parsed
