"""Which images there are, and what makes two builds of one the same."""

import hashlib
import json
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from paceline_dev import REPOSITORY
from paceline_dev.images.context import Member

KEY_LABEL = "dev.paceline.build"
"""On an image: what it was made of, so that it is made again only when that has changed."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image."""

    name: str
    folder: str
    """What its build sees, from the root of the repository."""
    containerfile: str
    """In that folder."""
    lock: str = ""
    """The lock of its dependencies in requirements/; an image without one is made from the runner's."""


OPERATOR = Recipe("paceline-operator", ".", "operator/Containerfile", "operator")
RUNNER = Recipe("paceline-runner", ".", "runner-image/Containerfile", "runner")
EXAMPLES = Recipe("paceline-examples", "runner-image/examples", "Containerfile")
STORIES = Recipe("paceline-e2e", "e2e/image", "Containerfile")
"""The handlers of the end-to-end stories; built only for them."""
DEMO = Recipe("paceline-demo", "dev/paceline_dev/demo/image", "Containerfile")
"""The handler of the demo; built only for it."""
POSTGRES = Recipe("localhost/paceline-postgres", "e2e/postgres", "Containerfile")
"""For the story of an install that brings its database along; it comes from neither our locks nor the runner."""
RECIPES = (OPERATOR, RUNNER, EXAMPLES)
"""The runner before the examples, which are made from it."""


@dataclass(frozen=True, slots=True)
class Source:
    """The state of the tree, for labels and times."""

    version: str
    revision: str
    epoch: int | None
    """Of the commit, in seconds; None outside of git."""


def project_version(root: Path = REPOSITORY) -> str:
    """The version in pyproject.toml."""
    version: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    return version


def default_tag(root: Path = REPOSITORY) -> str:
    """The release that this tree becomes, which is also what the manifests ask for."""
    return Version(project_version(root)).base_version


def read_source(root: Path = REPOSITORY) -> Source:
    """What git knows of the tree; a changed one says so."""
    commit = _git(root, "log", "-1", "--format=%H %ct")
    if not commit:
        return Source(project_version(root), "unknown", None)
    revision, epoch = commit.split()
    changed = "-changed" if _git(root, "status", "--porcelain", "--untracked-files=no") else ""
    return Source(project_version(root), f"{revision}{changed}", int(epoch))


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def build_arguments(source: Source, base: str) -> dict[str, str]:
    """For an image of ours; without a network, since the wheels are brought along."""
    epoch = {} if source.epoch is None else {"SOURCE_DATE_EPOCH": str(source.epoch)}
    return {"BASE": base, "PIP_NO_INDEX": "1", "VERSION": source.version, "REVISION": source.revision, **epoch}


def build_key(recipe: Recipe, members: Sequence[Member], arguments: Mapping[str, str], parent: str) -> str:
    """The same for the same files, arguments and parent image (by its id, since a tag can move)."""
    files = [(member.name, member.mode, hashlib.sha256(member.path.read_bytes()).hexdigest()) for member in members]
    made_of = [recipe.name, files, dict(arguments), parent]
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]
