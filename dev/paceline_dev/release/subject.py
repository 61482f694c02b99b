"""What is released: a tree, its version, its commit, its notes. And what speaks against releasing it."""

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

from paceline_dev import version
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import read_source
from paceline_dev.release import changelog

SNAPSHOT: Final = "or add SNAPSHOT=1 to make one that is no release"


@dataclass(frozen=True, slots=True)
class Subject:
    """A tree that may be released, or is looked at as if it were."""

    root: Path
    version: str
    revision: str
    """The commit; `-changed` if the tree is not what was committed."""
    epoch: int
    """When that was, in seconds: the time of everything that is made."""
    notes: str
    snapshot: bool = False

    @property
    def chart_version(self) -> str:
        """As Helm wants it: 1.2.3-dev0 where Python says 1.2.3.dev0."""
        return self.version.replace(".dev", "-dev")


def look(root: Path, *, snapshot: bool = False) -> Subject:
    """The subject that a tree is; all that speaks against it is told at once."""
    source, faults, notes = read_source(root), version.strays(root), ""
    if source.epoch is None:
        raise DevError(f"{root} is no git checkout: nothing would say what the release was made from")
    if not snapshot:
        faults += [*_unfinished(root, source.version)]
    try:
        notes = _notes(root, source.version)
    except DevError as error:
        faults.append(str(error))
    if faults:
        raise DevError("\n".join(["this tree cannot be released:", *faults]))
    return Subject(root, source.version, source.revision, source.epoch, notes, snapshot)


def _unfinished(root: Path, number: str) -> list[str]:
    faults = []
    if Version(number).is_devrelease:
        faults.append(
            f"{number} is the version between two releases: run "
            f"`python -m paceline_dev version {Version(number).base_version}` and commit, {SNAPSHOT}"
        )
    if number in tomllib.loads((root / "releases.toml").read_text())["releases"]:
        faults.append(f"{number} has been released (releases.toml): what is out is never made anew, so take the next")
    if changes := _changes(root):
        shown = ", ".join(changes[:5]) + (" …" if len(changes) > 5 else "")
        faults.append(f"the tree is not what was committed ({shown}): commit or remove that, {SNAPSHOT}")
    return faults


def _notes(root: Path, number: str) -> str:
    section = changelog.UNRELEASED if Version(number).is_devrelease else number
    return changelog.notes((root / changelog.NAME).read_text(), section)


def _changes(root: Path) -> list[str]:
    """Changed and new files: a new one would be packed as well."""
    done = subprocess.run(["git", "-C", root, "status", "--porcelain"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"git status: {done.stderr.strip()}")
    return [line[3:] for line in done.stdout.splitlines()]
