"""Releases as their users have them: the wheel of the commit that was released, unpacked."""

import io
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.cache import cache_root
from support.shared import shared

RELEASES: dict[str, str] = tomllib.loads((REPOSITORY / "releases.toml").read_text())["releases"]
"""The commit of each version."""


@dataclass(frozen=True, slots=True)
class Release:
    """One version, in a folder of its own."""

    version: str
    folder: Path

    def command(self, *words: str) -> list[str]:
        """`paceline` of that version."""
        return [sys.executable, "-m", "paceline_cli", *words]

    def environment(self, *folders: Path, **variables: str) -> dict[str, str]:
        """What makes Python find that version before today's, and then what is in other folders."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        return {**kept, **variables, "PYTHONPATH": os.pathsep.join(map(str, (self.folder, *folders)))}

    def run(self, *words: str, **variables: str) -> str:
        """Run a command to its end; returns what it printed."""
        done = subprocess.run(
            self.command(*words), env=self.environment(**variables), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def unpacked(factory: pytest.TempPathFactory, version: str) -> Release:
    """Build it, once for a commit. A clone without history cannot; what is not in a whole history is an error."""
    commit = RELEASES[version]
    if _git("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        shallow = _git("rev-parse", "--is-shallow-repository")
        if shallow.returncode != 0 or shallow.stdout.strip() == b"true":
            pytest.skip(f"the history is not here to build release {version} from: git fetch --unshallow")
        raise AssertionError(f"releases.toml: there is no commit {commit}, which {version} is said to be")
    folder = cache_root() / "releases" / f"{version}-{commit[:12]}"

    def build(_: int) -> tuple[object, dict[str, str]]:
        if not folder.exists():
            _build(commit, folder, factory.mktemp("release"))
        return None, {"folder": str(folder)}

    return Release(version, Path(shared(factory, f"release-{version}", build)["folder"]))


def _build(commit: str, folder: Path, scratch: Path) -> None:
    source = _git("archive", commit)
    with tarfile.open(fileobj=io.BytesIO(source.stdout)) as archive:
        archive.extractall(scratch / "source", filter="data")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", scratch, scratch / "source"], check=True)
    (wheel,) = scratch.glob("*.whl")
    draft = folder.with_suffix(f".{os.getpid()}")
    zipfile.ZipFile(wheel).extractall(draft)  # noqa: S202 -- we have just built it
    draft.rename(folder)


def _git(*words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", "-C", REPOSITORY, *words], capture_output=True, check=False)
