"""Archives as `docker save` writes them, in the form of old engines and of new ones."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

STATUS = """\
Package: base-files
Status: install ok installed
Architecture: amd64
Version: 13.8+deb13u1
Description: Debian base system
 .
 Several files.

Package: old
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: tzdata
Status: install ok installed
Architecture: all
Version: 2026a-1
"""
RELEASE = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
SITE = "opt/paceline/lib/python3.13/site-packages"


def package(name: str, version: str) -> dict[str, str]:
    """The file by which an installed package is known."""
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nName: not-this-one\n"
    return {f"{SITE}/{name.replace('-', '_')}-{version}.dist-info/METADATA": metadata}


def saved(
    place: Path, layers: list[Mapping[str, str]], *, reference: str = "paceline-runner:1.2.0", base: str = "some:base",
    zipped: bool = False,
) -> Path:  # fmt: skip
    """An image of these layers, the lowest first."""
    names = [f"blobs/sha256/{number}" if zipped else f"{number}/layer.tar" for number in range(len(layers))]
    said = {"Labels": {"org.opencontainers.image.base.name": base}, "Env": ["PATH=/bin", "PYTHON_VERSION=3.13.9"]}
    config = {"config": said}
    packed = [packed_as_tar({name: text.encode() for name, text in layer.items()}) for layer in layers]
    contents = dict(zip(names, map(gzip.compress, packed) if zipped else packed, strict=True))
    manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": names}]
    contents |= {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}
    place.write_bytes(packed_as_tar(contents))
    return place


def packed_as_tar(files: Mapping[str, bytes]) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return into.getvalue()
