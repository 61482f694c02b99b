"""What is applied to a cluster: install.yaml, crds.yaml, and the charts as Helm packs them."""

import gzip
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from paceline_dev.helm.program import Helm
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.release.subject import Subject

CHARTS: Final = ("paceline", "paceline-crds")
INSTALL: Final = "install.yaml"
CRDS: Final = "crds.yaml"


def write(subject: Subject, folder: Path) -> None:
    """Write the two files."""
    text = (subject.root / "manifests" / INSTALL).read_text()
    image = re.compile(rf"\b{OPERATOR.name}:{re.escape(default_tag(subject.root))}$", re.MULTILINE)
    (folder / INSTALL).write_text(image.sub(f"{OPERATOR.name}:{subject.version}", text))
    kinds = sorted((subject.root / "crds").glob("paceline.dev_*.yaml"))
    (folder / CRDS).write_text("---\n".join(path.read_text() for path in kinds))


def package(subject: Subject, folder: Path, helm: Helm) -> None:
    """Pack the charts."""
    versions = ("--version", subject.chart_version, "--app-version", subject.version)
    with tempfile.TemporaryDirectory(prefix="paceline-charts-") as scratch:
        for name in CHARTS:
            chart = subject.root / "manifests" / "chart" / name
            helm.run("package", str(chart), *versions, "--destination", scratch)
        for packed in sorted(Path(scratch).iterdir()):
            _settle(packed, folder / packed.name, subject.epoch)


def _settle(packed: Path, place: Path, epoch: int) -> None:
    """The same archive with the time of the commit: Helm's has that of the checkout, and of the call."""
    with (
        tarfile.open(packed) as before,
        place.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=epoch) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda each: each.name):
            entry = tarfile.TarInfo(member.name)
            entry.size, entry.mode, entry.mtime = member.size, 0o644, epoch
            after.addfile(entry, before.extractfile(member))
