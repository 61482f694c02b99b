"""The version: pyproject.toml says it once, and whatever else has to name the release is found here.

Manifests, charts, Containerfiles and pages name the release that this tree becomes, so that what is committed can be
applied as it is. `make check` finds a place that names another; `python -m paceline_dev version NEXT` writes them all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import default_tag, project_version

SEARCHED: Final = ("README.md", "crds", "dev", "docs", "e2e", "gateway", "manifests", "operator", "runner-image")
"""Not what tells of other releases: the change log, tests, results of benchmarks."""
NAMES: Final = (".md", ".yaml", "Containerfile")
NUMBER: Final = r"(?P<version>\d+\.\d+\.\d+(?:\.\w+)*)"
TAG: Final = re.compile(rf"(?:\bpaceline-(?:operator|runner|examples|\$name):|# tag ){NUMBER}")
CHART: Final = re.compile(rf"^(?:version|appVersion): {NUMBER}$", re.MULTILINE)
FORM: Final = re.compile(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:\.dev\d+)?")
SOURCE: Final = re.compile(r'^version = "(?P<version>[^"]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere a release is named."""

    path: Path
    start: int
    end: int
    line: int
    version: str


def places(root: Path = REPOSITORY) -> Iterator[Place]:
    """Every place that names the release, in the order of files and lines."""
    for path in sorted(_files(root)):
        text = path.read_text()
        for match in (CHART if path.name == "Chart.yaml" else TAG).finditer(text):
            start, end = match.span("version")
            yield Place(path, start, end, text.count("\n", 0, start) + 1, match["version"])


def strays(root: Path = REPOSITORY) -> list[str]:
    """One line for each place that names another release than this tree becomes."""
    wanted = default_tag(root)
    return [
        f"{each.path.relative_to(root)}:{each.line}: names {each.version}, and this tree becomes {wanted}: "
        f"run `python -m paceline_dev version {project_version(root)}`"
        for each in places(root)
        if each.version != wanted
    ]


def change(version: str, root: Path = REPOSITORY) -> list[Path]:
    """Make this tree that of another version; returns the files that have changed."""
    if not FORM.fullmatch(version):
        raise DevError(f'"{version}" is no version of ours: say 1.2.3, or 1.2.3.dev0 between two releases')
    project = root / "pyproject.toml"
    texts = {project: SOURCE.sub(f'version = "{version}"', project.read_text(), count=1)}
    texts |= _named(root, Version(version).base_version)
    return [path for path, text in texts.items() if _write(path, text)]


def _named(root: Path, release: str) -> dict[Path, str]:
    texts: dict[Path, str] = {}
    for place in reversed([*places(root)]):  # from the end, so that what is before it stays where it is
        text = texts.get(place.path) or place.path.read_text()
        texts[place.path] = text[: place.start] + release + text[place.end :]
    return texts


def _write(path: Path, text: str) -> bool:
    if path.read_text() == text:
        return False
    path.write_text(text)
    return True


def _files(root: Path) -> Iterator[Path]:
    for name in SEARCHED:
        top = root / name
        found = [top] if top.is_file() else top.rglob("*")
        yield from (path for path in found if path.name.endswith(NAMES) and path.is_file())
