"""Bills of materials: what is told to `bill.py`, once for the Python distribution and once for each image."""

import hashlib
import json
import sys
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from paceline_dev import REPOSITORY
from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import RUNNER, Recipe
from paceline_dev.kind.folders import made_once
from paceline_dev.progress import Reporter
from paceline_dev.release import lock
from paceline_dev.release.archive import Contents
from paceline_dev.release.lock import OURS, Pin
from paceline_dev.release.programs import run
from paceline_dev.release.subject import Subject

SCRIPT: Final = Path(__file__).with_name("bill.py")
TOOLS: Final = REPOSITORY / "requirements" / "sbom.txt"
LOCKS: Final = ("base", "runner", "operator")
"""Of the distribution: what users import, and the extras that the images are made with."""
LICENSE: Final = "Apache-2.0"
Json = dict[str, Any]


def python_environment(report: Reporter) -> Path:
    """The Python that has the CycloneDX library, which is no business of ours otherwise."""
    key = hashlib.sha256(TOOLS.read_bytes() + sys.version.encode()).hexdigest()[:12]

    def make(folder: Path) -> None:
        with report.task("installing the CycloneDX library"):
            venv.create(folder, with_pip=True)
            pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--requirement", TOOLS)
            run("the CycloneDX library", [folder / "bin" / "python", *pip])

    place = cache_root() / "sbom"
    place.mkdir(parents=True, exist_ok=True)
    return made_once(place / key, report, make) / "bin" / "python"


def write(python: Path, told: Json, place: Path) -> None:
    """Write a bill that fits its schema."""
    place.write_text(run(place.name, [python, SCRIPT], stdin=json.dumps(told)))


def of_distribution(subject: Subject) -> Json:
    """Everything that the locks pin for it."""
    pins = lock.merged(_lock(subject, name) for name in LOCKS)
    return _told(subject, _ours(subject, pins), _packages(pins))


def of_image(subject: Subject, recipe: Recipe, contents: Contents) -> Json:
    """The packages that are in it; Python's must be those of its lock."""
    pins = _lock(subject, recipe.lock or RUNNER.lock)
    _compare(recipe.name, contents.python, {name: pin.version for name, pin in pins.items()} | {OURS: subject.version})
    debian = [_debian(each.name, each.version, each.architecture, contents.system) for each in contents.debian]
    direct = [_ours(subject, pins), *_interpreter(contents), *debian]
    main = {
        "id": recipe.name, "type": "container", "form": "docker", "name": recipe.name, "version": subject.version,
        "hashes": [], "needs": [each["id"] for each in direct],
    }  # fmt: skip
    return _told(subject, main, [*direct, *_packages(pins)], {"paceline:base": contents.base})


def _told(subject: Subject, main: Json, parts: list[Json], more: Mapping[str, str] | None = None) -> Json:
    properties = {"paceline:commit": subject.revision, **(more or {})}
    return {"epoch": subject.epoch, "license": LICENSE, "properties": properties, "main": main, "parts": parts}


def _lock(subject: Subject, name: str) -> dict[str, Pin]:
    return lock.read(subject.root / "requirements" / f"{name}.txt")


def _ours(subject: Subject, pins: Mapping[str, Pin]) -> Json:
    return _python(OURS, subject.version, (), pins)


def _packages(pins: Mapping[str, Pin]) -> list[Json]:
    return [_python(pin.name, pin.version, pin.hashes, pins) for pin in pins.values()]


def _python(name: str, version: str, hashes: Iterable[str], pins: Mapping[str, Pin]) -> Json:
    needs = [f"python/{each.name}" for each in pins.values() if name in each.needed_by]
    return {
        "id": f"python/{name}", "type": "library", "form": "pypi", "name": name, "version": version,
        "hashes": [*hashes], "needs": needs,
    }  # fmt: skip


def _interpreter(contents: Contents) -> list[Json]:
    """Python itself, where it is no package of Debian's."""
    found = {"id": "python", "type": "platform", "form": "generic", "name": "python", "hashes": [], "needs": []}
    return [found | {"version": contents.interpreter}] if contents.interpreter else []


def _debian(name: str, version: str, architecture: str, system: str) -> Json:
    return {
        "id": f"debian/{name}/{architecture}", "type": "library", "form": "deb",
        "namespace": system.partition("-")[0], "name": name, "version": version,
        "qualifiers": {"arch": architecture, "distro": system}, "hashes": [], "needs": [],
    }  # fmt: skip


def _compare(image: str, found: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    if faults := [
        f"{name} {found.get(name, 'is not there')} instead of {wanted.get(name, 'nothing')}"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name)
    ]:
        raise DevError(f"{image} is not what its lock pins: {'; '.join(faults)}")
