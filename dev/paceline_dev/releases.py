"""Releases: the trees that they were made from, for tests in which yesterday's code meets today's."""

import subprocess
import tomllib
from pathlib import Path

from paceline_dev import REPOSITORY
from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.folders import made_once
from paceline_dev.progress import Reporter

RELEASES: dict[str, str] = tomllib.loads((REPOSITORY / "releases.toml").read_text())["releases"]
"""The commit of each version."""


class NoHistoryError(DevError):
    """This copy of the repository does not reach back to that release."""


def source_tree(version: str, report: Reporter, repository: Path = REPOSITORY) -> Path:
    """A clone with only the commit of that version. Do not build in it: it is kept."""
    commit = RELEASES[version]
    if _git(repository, "cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        shallow = _git(repository, "rev-parse", "--is-shallow-repository")
        if shallow.returncode != 0 or shallow.stdout.strip() == "true":
            raise NoHistoryError(f"the history is not here to build release {version} from: git fetch --unshallow")
        raise DevError(f"releases.toml: there is no commit {commit}, which {version} is said to be")

    def make(folder: Path) -> None:
        steps = (("init", "--quiet"), ("fetch", "--quiet", "--depth=1", f"file://{repository}", commit),
                 ("checkout", "--quiet", "--detach", commit))  # fmt: skip
        for step in steps:
            if (done := _git(folder, *step)).returncode != 0:
                raise DevError(f"release {version} cannot be checked out: git {step[0]}: {done.stderr.strip()}")

    place = cache_root() / "releases"
    place.mkdir(parents=True, exist_ok=True)
    return made_once(place / f"source-{version}-{commit[:12]}", report, make)


def _git(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=False)
