"""Tries a release as those would who get it, before anybody does."""

import filecmp
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from paceline_dev.errors import DevError
from paceline_dev.helm.program import RELEASE, Helm
from paceline_dev.progress import Reporter
from paceline_dev.release import images, manifests, sums
from paceline_dev.release.distribution import wheel_of
from paceline_dev.release.programs import run
from paceline_dev.release.subject import Subject

STEPS: Final = 4


def verify(subject: Subject, folder: Path, helm: Helm, report: Reporter, *, with_images: bool) -> None:
    """Fail with the first thing that does not hold."""
    with (
        report.task("trying what was made", STEPS) as task,
        tempfile.TemporaryDirectory(prefix="paceline-release-") as scratch,
    ):
        task.advance("checksums")
        sums.check(folder)
        task.advance("manifests and charts")
        asked = asked_for(subject, folder, helm)
        if with_images and (missing := asked - images.references(folder)):
            raise DevError(f"no archive holds {', '.join(sorted(missing))}, which manifests or charts ask for")
        task.advance("the wheel from the sdist")
        same_wheel(subject, folder, Path(scratch))
        task.advance("an installation")
        installs(subject, folder, Path(scratch) / "installed")


def asked_for(subject: Subject, folder: Path, helm: Helm) -> set[str]:
    """The images that install.yaml and the charts name; all of them must be of this version."""
    documents = [*yaml.safe_load_all((folder / manifests.INSTALL).read_text())]
    documents += yaml.safe_load_all((folder / manifests.CRDS).read_text())
    options = ("--set=gateway.enabled=true", "--set=migrate.enabled=true")
    for name in manifests.CHARTS:
        packed = folder / f"{name}-{subject.chart_version}.tgz"
        given = options if name == RELEASE else ()
        documents += yaml.safe_load_all(helm.run("template", RELEASE, str(packed), *given).stdout)
    found = set(_images(documents))
    if other := {each for each in found if each.rpartition(":")[2] != subject.version}:
        raise DevError(f"{', '.join(sorted(other))} is asked for, which is not of version {subject.version}")
    if not found:
        raise DevError(f"{manifests.INSTALL} asks for no image")
    return found


def same_wheel(subject: Subject, folder: Path, scratch: Path) -> None:
    """The sdist is all that it takes to make the wheel."""
    sdist, (wheel,) = folder / f"paceline-{subject.version}.tar.gz", folder.glob("*.whl")
    if not filecmp.cmp(wheel, wheel_of(sdist, scratch, subject.epoch), shallow=False):
        raise DevError(
            f"{sdist.name} makes another {wheel.name} than this tree: see what [tool.hatch.build] leaves out"
        )


def installs(subject: Subject, folder: Path, place: Path) -> None:
    """In an empty environment, by hashes alone, the command tells the version."""
    (wheel,) = folder.glob("*.whl")
    venv.create(place, with_pip=True)
    wanted = place / "requirements.txt"
    wanted.write_text(f"{wheel} --hash=sha256:{sums.read(folder)[wheel.name]}\n")
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--requirement")
    for lock in (subject.root / "requirements" / "base.txt", wanted):
        run(f"installing {wheel.name}", [place / "bin" / "python", *pip, lock])
    told = run("the installed command", [place / "bin" / "paceline", "--version"], cwd=place)
    if told != f"paceline {subject.version}\n":
        raise DevError(f"the installed command says {told.strip()!r}, and not that it is {subject.version}")


def _images(part: Any) -> Iterator[str]:
    """Of all containers, wherever they are."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("containers", "initContainers") and isinstance(value, list):
                yield from (each["image"] for each in value if isinstance(each, dict) and "image" in each)
            else:
                yield from _images(value)
    elif isinstance(part, list):
        for each in part:
            yield from _images(each)
