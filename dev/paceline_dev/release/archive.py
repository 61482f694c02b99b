"""What is in an image, read from the archive that `docker save` writes: no container has to run for it."""

import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from packaging.utils import canonicalize_name

from paceline_dev.errors import DevError

STATUS: Final = "var/lib/dpkg/status"
RELEASE: Final = "usr/lib/os-release"
SITE: Final = "opt/paceline/lib/python3.*/site-packages/*.dist-info/METADATA"
"""Where our images have what they import; the base's own Python has no packages but pip."""
BASE: Final = "org.opencontainers.image.base.name"
WHITEOUT: Final = ".wh."
OPAQUE: Final = ".wh..wh..opq"


@dataclass(frozen=True, slots=True, order=True)
class Debian:
    """A package of the base."""

    name: str
    version: str
    architecture: str


@dataclass(frozen=True, slots=True)
class Contents:
    """An image as its archive tells it."""

    references: tuple[str, ...]
    base: str
    """The name of the image that it is made on."""
    interpreter: str
    """The version of Python where the base has built its own; empty where it is a package."""
    system: str
    """As `debian-13`."""
    debian: tuple[Debian, ...]
    python: dict[str, str]
    """The version of each package by its name."""


def references(path: Path) -> tuple[str, ...]:
    """The names that the image has in an engine that loads the archive."""
    with tarfile.open(path) as archive:
        return _references(_manifest(archive))


def read(path: Path) -> Contents:
    """The packages in an archive, which must not be compressed: layers are looked through, not unpacked."""
    with tarfile.open(path, "r:") as archive:
        manifest = _manifest(archive)
        config = json.loads(_content(archive, manifest["Config"]))["config"]
        files: dict[str, bytes] = {}
        for layer in manifest["Layers"]:
            _lay(archive, layer, files)
    if STATUS not in files:
        raise DevError(f"{path.name}: there is no {STATUS}: the base is no Debian, and what is in it cannot be told")
    found = (_metadata(content) for name, content in files.items() if PurePosixPath(name).match(SITE))
    variables = dict(each.split("=", 1) for each in config.get("Env") or ())
    return Contents(
        references=_references(manifest), base=(config.get("Labels") or {}).get(BASE, "an unknown base"),
        interpreter=variables.get("PYTHON_VERSION", ""), system=_system(files.get(RELEASE, b"").decode()),
        debian=tuple(sorted(_installed(files[STATUS].decode()))),
        python={canonicalize_name(each["Name"]): each["Version"] for each in found},
    )  # fmt: skip


def _manifest(archive: tarfile.TarFile) -> dict[str, Any]:
    (manifest,) = json.loads(_content(archive, "manifest.json"))
    found: dict[str, Any] = manifest
    return found


def _references(manifest: dict[str, Any]) -> tuple[str, ...]:
    return tuple(manifest.get("RepoTags") or ())


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    with _opened(archive, name) as file:
        return file.read()


@contextmanager
def _opened(archive: tarfile.TarFile, name: str) -> Iterator[IO[bytes]]:
    try:
        file = archive.extractfile(name)
    except KeyError:
        file = None
    if file is None:
        raise DevError(f"{os.fsdecode(archive.name or '')} is no archive of an image: there is no {name} in it")
    with file:
        yield file


def _lay(archive: tarfile.TarFile, layer: str, files: dict[str, bytes]) -> None:
    """Put a layer on what is below it; of its files only those that tell of packages are read."""
    above: dict[str, bytes] = {}
    with _opened(archive, layer) as file, tarfile.open(fileobj=file) as members:
        for member in members:
            path = PurePosixPath(member.name.removeprefix("./"))
            if path.name == OPAQUE:
                _hide(path.parent, files)
            elif path.name.startswith(WHITEOUT):
                _hide(path.with_name(path.name.removeprefix(WHITEOUT)), files)
            elif member.isfile() and _tells(path) and (content := members.extractfile(member)) is not None:
                above[str(path)] = content.read()
    files |= above


def _tells(path: PurePosixPath) -> bool:
    return str(path) in (STATUS, RELEASE) or path.match(SITE)


def _hide(path: PurePosixPath, files: dict[str, bytes]) -> None:
    for name in [name for name in files if PurePosixPath(name).is_relative_to(path)]:
        del files[name]


def _metadata(content: bytes) -> dict[str, str]:
    return dict(HeaderParser().parsestr(content.decode(), headersonly=True))


def _installed(status: str) -> Iterator[Debian]:
    for paragraph in filter(str.strip, status.split("\n\n")):
        fields = HeaderParser().parsestr(paragraph.lstrip("\n"), headersonly=True)
        if fields["Status"] == "install ok installed":
            yield Debian(fields["Package"], fields["Version"], fields["Architecture"])


def _system(release: str) -> str:
    fields = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    return "-".join(fields.get(name, "").strip('"') for name in ("ID", "VERSION_ID")).strip("-")
