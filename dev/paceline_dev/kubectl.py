"""kubectl, as a user would type it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError

KINDS = ("runnergroups", "runners")


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One kubectl bound to one kubeconfig."""

    program: Path
    kubeconfig: Path
    prefix: tuple[str, ...] = ()
    """What has to stand before the command, where the cluster is in a network of its own."""

    def command(self, *args: str) -> list[str]:
        """What is run."""
        return [*self.prefix, str(self.program), *args]

    @property
    def environment(self) -> dict[str, str]:
        """What it is run with."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def run(self, *args: str, stdin: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run it; a failure is an error with kubectl's own words, unless the caller wants to look at it."""
        done = subprocess.run(
            self.command(*args), input=stdin, env=self.environment, capture_output=True, text=True, check=False
        )
        if check and done.returncode != 0:
            raise DevError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done

    def teach(self) -> None:
        """Let the API server know our kinds, and wait until it does."""
        self.run("apply", "--server-side", "--force-conflicts", "-f", str(REPOSITORY / "crds"))
        for kind in KINDS:
            self.run("wait", f"crd/{kind}.paceline.dev", "--for=condition=Established", "--timeout=30s")

    def json(self, *args: str) -> dict[str, Any]:
        """What `-o json` prints, parsed."""
        parsed: dict[str, Any] = json.loads(self.run(*args, "-o", "json").stdout)
        return parsed
