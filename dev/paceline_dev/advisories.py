"""Asks whether a pinned dependency has a known hole, by pip-audit.

Where nobody can be asked it says so, and that is no failure: a machine without a way out can still do everything else.
"""

import json
import os
import subprocess
import urllib.error
import urllib.request
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.testing.scratch import last_words
from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.progress import Reporter

SOURCE = "https://api.osv.dev/v1/query"
LOCK = REPOSITORY / "requirements" / "audit.txt"
HOME = REPOSITORY / "build" / "audit"
ANSWER_SECONDS = 15.0
OPTIONS = (
    "--require-hashes", "--disable-pip", "--format=json", "--progress-spinner=off", "--vulnerability-service=osv",
)  # fmt: skip
"""It reads our lock files as they are: nothing is resolved or downloaded for it."""


@dataclass(frozen=True, slots=True, order=True)
class Hole:
    """A known one, in a version that we pin."""

    package: str
    version: str
    advisory: str
    mended: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}: {self.advisory} (mended in {self.mended or 'no version yet'})"


def unreachable(source: str) -> str:
    """Why nobody answers there; nothing if somebody does, whatever the answer is."""
    try:
        with urllib.request.urlopen(urllib.request.Request(source, method="HEAD"), timeout=ANSWER_SECONDS):  # noqa: S310
            return ""
    except urllib.error.HTTPError:
        return ""
    except OSError as error:
        return str(error)


def installed(report: Reporter) -> Path:
    """pip-audit in an environment of its own: what it needs is no business of ours."""
    ready, program = HOME / "ready", HOME / "bin" / "pip-audit"
    if not ready.exists() or ready.stat().st_mtime < LOCK.stat().st_mtime:
        with report.task("installing pip-audit into build/audit"):
            venv.create(HOME, with_pip=True, clear=True)
            words = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", LOCK)
            done = subprocess.run([HOME / "bin" / "python", *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise DevError(f"pip-audit could not be installed: {last_words(done.stderr)}")
            ready.touch()
    return program


def holes(program: Path, source: str, locks: Sequence[Path]) -> list[Hole]:
    """All that are known in what the lock files pin."""
    files = [word for lock in locks for word in ("--requirement", str(lock))]
    done = subprocess.run(
        [program, *OPTIONS, f"--osv-url={source}", *files], capture_output=True, text=True, check=False
    )
    try:
        told = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise DevError(f"pip-audit has not answered: {last_words(done.stderr)}") from None
    if left_out := [each for each in told if "skip_reason" in each]:
        first = left_out[0]
        raise DevError(f"pip-audit has left out {first['name']}: {first['skip_reason']}")
    return sorted({
        Hole(each["name"], each["version"], hole["id"], ", ".join(hole["fix_versions"]))
        for each in told for hole in each["vulns"]
    })  # fmt: skip


def audit(report: Reporter) -> None:
    """Tell what is known; DevError if that is bad."""
    source = os.environ.get("PACELINE_ADVISORIES") or SOURCE
    if why := unreachable(source):
        report.line(f"not audited: no advisory source can be reached ({source}: {why})")
        return
    locks = sorted((REPOSITORY / "requirements").glob("*.txt"))
    found = holes(installed(report), source, locks)
    for each in found:
        report.line(str(each))
    if found:
        raise DevError(f"{len(found)} known holes in pinned dependencies (above): make lock takes the newest versions")
    report.line(f"no known hole in what {len(locks)} lock files pin")
