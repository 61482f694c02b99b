"""`make release`: makes everything in a folder beside its place, tries it there, and only then puts it there."""

import shutil
from pathlib import Path
from typing import Final

from paceline_dev import REPOSITORY
from paceline_dev.helm.program import Helm, find_helm
from paceline_dev.progress import Reporter
from paceline_dev.release import distribution, images, manifests, sbom, sums
from paceline_dev.release.subject import Subject, look
from paceline_dev.release.verify import verify

NOTES: Final = "RELEASE_NOTES.md"


def make(report: Reporter, root: Path = REPOSITORY, *, snapshot: bool = False, images: bool = True) -> Path:
    """The folder of the release of a tree."""
    subject = look(root, snapshot=snapshot)
    if snapshot:
        report.line(f"a snapshot of {subject.revision[:12]} as {subject.version}: this is no release")
    helm = Helm(find_helm(report))
    place = root / "dist" / subject.version
    unfinished = place.with_name(f".{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    assemble(subject, unfinished, helm, report, with_images=images)
    verify(subject, unfinished, helm, report, with_images=images)
    shutil.rmtree(place, ignore_errors=True)
    unfinished.rename(place)
    return place


def assemble(subject: Subject, folder: Path, helm: Helm, report: Reporter, *, with_images: bool) -> None:
    """Write all files of a release into an empty folder."""
    python = sbom.python_environment(report)
    with report.task("building wheel and sdist"):
        distribution.build(subject, folder)
    with report.task("writing manifests, charts and bills"):
        manifests.write(subject, folder)
        manifests.package(subject, folder, helm)
        bill = folder / f"paceline-{subject.version}.cdx.json"
        sbom.write(python, sbom.of_distribution(subject), bill)
        (folder / NOTES).write_text(f"# Paceline {subject.version}\n\n{subject.notes}")
    if with_images:
        images.write(subject, folder, python, report)
    sums.write(folder)
