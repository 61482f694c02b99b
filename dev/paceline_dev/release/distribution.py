"""Wheel and sdist: the same commit gives the same bytes, since hatchling takes its time for that of every file."""

import sys
from pathlib import Path

from paceline_dev.release.programs import run
from paceline_dev.release.subject import Subject


def build(subject: Subject, folder: Path) -> None:
    """Write both into a folder, by the pinned hatchling of this environment."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--target", "wheel"]
    run("wheel and sdist", [*command, "--directory", folder], cwd=subject.root, epoch=subject.epoch)


def wheel_of(sdist: Path, folder: Path, epoch: int) -> Path:
    """The wheel that a user without ours would build from the sdist."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    run(f"a wheel from {sdist.name}", [*command, "--wheel-dir", folder, sdist], epoch=epoch)
    (wheel,) = folder.glob("*.whl")
    return wheel
