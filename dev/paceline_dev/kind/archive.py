"""Writes container images as a docker-archive: what `docker load` and `ctr images import` read. No engine is needed.

The same inputs give the same bytes: times, owners and the order of entries are fixed.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CREATED = "2026-01-01T00:00:00Z"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Program:
    """A layer with one program in it."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A layer with everything in a folder."""

    source: Path


Layer = Program | Tree


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its full name with tag; a layer that several images share is written once."""

    name: str
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    user: str = ""


def write_archive(output: Path, images: Sequence[Image]) -> None:
    """Write all images into one file."""
    digests: dict[Layer, str] = {}
    manifest = []
    with tarfile.open(output, "w") as archive:
        for image in images:
            for layer in image.layers:
                if layer not in digests:
                    digests[layer] = _add_layer(archive, layer, output.with_suffix(".layer"))
            layers = [digests[layer] for layer in image.layers]
            config = json.dumps(_config(image, layers), sort_keys=True).encode()
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            _add_bytes(archive, name, config)
            manifest.append({"Config": name, "RepoTags": [image.name], "Layers": [f"{d}.tar" for d in layers]})
        _add_bytes(archive, "manifest.json", json.dumps(manifest, sort_keys=True).encode())


def _config(image: Image, digests: Sequence[str]) -> dict[str, object]:
    machine = platform.machine().lower()
    return {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "created": CREATED,
        "config": {"Entrypoint": list(image.entrypoint), "User": image.user, "WorkingDir": "/", "Env": [PATH]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        "history": [{"created": CREATED, "created_by": "paceline_dev"} for _ in digests],
    }


def _add_layer(archive: tarfile.TarFile, layer: Layer, scratch: Path) -> str:
    """Write a layer beside the archive first: its name in there is the digest of its bytes."""
    try:
        with tarfile.open(scratch, "w", format=tarfile.PAX_FORMAT) as written:
            if isinstance(layer, Program):
                _add_program(written, layer)
            else:
                for path in sorted(layer.source.iterdir()):
                    written.add(path, path.name, filter=_anonymous)
        with scratch.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
            data.seek(0)
            entry = tarfile.TarInfo(f"{digest}.tar")
            entry.size = scratch.stat().st_size
            archive.addfile(entry, data)
        return digest
    finally:
        scratch.unlink(missing_ok=True)


def _add_program(layer: tarfile.TarFile, program: Program) -> None:
    target = PurePosixPath(program.target.lstrip("/"))
    for folder in reversed(target.parents[:-1]):
        entry = tarfile.TarInfo(str(folder))
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        layer.addfile(entry)
    with program.source.open("rb") as data:
        entry = _anonymous(layer.gettarinfo(arcname=str(target), fileobj=data))
        entry.mode = 0o755
        layer.addfile(entry, data)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))
