"""The images as archives, for `docker load` and `kind load image-archive`, each with its bill of materials."""

import gzip
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from paceline_dev.images.base import PULLED
from paceline_dev.images.build import build_images
from paceline_dev.images.recipe import RECIPES, Recipe
from paceline_dev.kind.engine import Engine, find_engine
from paceline_dev.progress import Reporter
from paceline_dev.release import archive, sbom
from paceline_dev.release.subject import Subject

SUFFIX: Final = ".docker.tar.gz"
PACKED: Final = 6
"""gzip's level: a higher one takes twice the time for two per cent."""


def write(subject: Subject, folder: Path, python: Path, report: Reporter) -> None:
    """Build those that the engine does not have, and write archives and bills into a folder."""
    engine = find_engine(report)
    build_images(engine, report, subject.version, root=subject.root)
    machine = engine.docker("version", "--format", "{{.Server.Arch}}").stdout.strip()
    with report.task("packing the images", len(RECIPES)) as task:
        for recipe in RECIPES:
            task.advance(recipe.name)
            base = save(engine, subject, recipe, folder / f"{recipe.name}-{subject.version}-{machine}", python)
            if base != PULLED:
                report.line(f"{recipe.name} is made on {base}: to try it, not to ship it (docs/reference/images.md)")


def save(engine: Engine, subject: Subject, recipe: Recipe, place: Path, python: Path) -> str:
    """Write one image and its bill beside each other; returns the name of its base."""
    with tempfile.TemporaryDirectory(prefix="paceline-image-", dir=place.parent.parent) as scratch:
        saved = Path(scratch) / "image.tar"
        engine.docker("save", "--output", saved, f"{recipe.name}:{subject.version}")
        contents = archive.read(saved)
        sbom.write(python, sbom.of_image(subject, recipe, contents), place.with_name(f"{place.name}.cdx.json"))
        pack(saved, place.with_name(place.name + SUFFIX))
    return contents.base


def pack(saved: Path, place: Path) -> None:
    """Compress it; without a name or a time in it."""
    with (
        saved.open("rb") as source,
        place.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=PACKED, mtime=0) as packed,
    ):
        shutil.copyfileobj(source, packed, 2**20)


def references(folder: Path) -> set[str]:
    """The images that the archives of a folder hold."""
    return {name for path in _archives(folder) for name in archive.references(path)}


def _archives(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))
