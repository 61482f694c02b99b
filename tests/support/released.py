"""Releases as their users have them: the wheel of the commit that was released, unpacked."""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from paceline_dev.progress import PlainReporter
from paceline_dev.releases import NoHistoryError, source_tree
from support.shared import shared


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
    try:
        source = source_tree(version, PlainReporter())
    except NoHistoryError as error:
        pytest.skip(str(error))
    folder = source.with_name(source.name.replace("source", "wheel"))

    def build(_: int) -> tuple[object, dict[str, str]]:
        if not folder.exists():
            _build(source, folder, factory.mktemp("release"))
        return None, {"folder": str(folder)}

    return Release(version, Path(shared(factory, f"release-{version}", build)["folder"]))


def _build(source: Path, folder: Path, scratch: Path) -> None:
    shutil.copytree(source, scratch / "source")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", scratch, scratch / "source"], check=True)
    (wheel,) = scratch.glob("*.whl")
    draft = folder.with_suffix(f".{os.getpid()}")
    zipfile.ZipFile(wheel).extractall(draft)
    draft.rename(folder)
