"""What this cache knows about the clusters that it made: whose they are, and whether they were ever finished."""

import contextlib
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from paceline_dev.cache import publish
from paceline_dev.errors import DevError
from paceline_dev.kind.places import Places

# kind's own rule; the longest node name, NAME-control-plane, must be a host name of 63 characters.
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,40}[a-z0-9])?")
FILE = "cluster.json"


@dataclass(frozen=True, slots=True)
class Record:
    """One cluster; `ready` is false from the first step of its creation to the last."""

    name: str
    local: bool
    workers: int
    ready: bool


def check_name(name: str) -> str:
    """The name, if kind can take it."""
    if not _NAME.fullmatch(name):
        raise DevError(
            f'"{name}" cannot be the name of a cluster: use up to 42 lower-case letters, digits, dots and dashes, '
            "with a letter or digit at both ends"
        )
    return name


def folder(places: Places, name: str) -> Path:
    """Where a cluster's kubeconfig, wrapper and record are."""
    return places.cache / "clusters" / name


def read(places: Places, name: str) -> Record | None:
    """What is known; None if this cache did not make a cluster of that name."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Record(**json.loads((folder(places, name) / FILE).read_text()))
    return None


def write(places: Places, record: Record) -> None:
    """Write it down, whole or not at all."""
    place = folder(places, record.name)
    place.mkdir(parents=True, exist_ok=True)
    unfinished = place / f".{FILE}.{os.getpid()}.tmp"
    unfinished.write_text(json.dumps(asdict(record), indent=2) + "\n")
    publish(unfinished, place / FILE)


def forget(places: Places, name: str) -> None:
    """Remove record, kubeconfig and wrapper."""
    shutil.rmtree(folder(places, name), ignore_errors=True)


def names(places: Places) -> list[str]:
    """All clusters that this cache made."""
    return sorted(path.parent.name for path in (places.cache / "clusters").glob(f"*/{FILE}"))
