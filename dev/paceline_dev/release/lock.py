"""What a lock file pins, and who needs it, as uv writes it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from paceline_dev.errors import DevError
from paceline_dev.images.wheels import PYTHON

ENVIRONMENT: Final = {
    "implementation_name": "cpython", "platform_python_implementation": "CPython", "platform_system": "Linux",
    "os_name": "posix", "sys_platform": "linux", "python_version": PYTHON, "python_full_version": f"{PYTHON}.0",
    "extra": "",
}  # fmt: skip
"""Where a release runs; of the Python versions that it runs on, that of the images."""
OURS: Final = "paceline"
PIN: Final = re.compile(r"^(?P<what>[A-Za-z0-9][^\\#\n]*?) ?\\\n(?P<rest>(?: {4}[^\n]*\n?)+)", re.MULTILINE)
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NEEDED_BY: Final = re.compile(r"^ {4}# +(?:via )?([\w.-]+)(?: \(pyproject\.toml\))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pin:
    """A package that is installed."""

    name: str
    version: str
    hashes: tuple[str, ...]
    """Of every file that may be taken for it."""
    needed_by: frozenset[str]
    """Packages; ours for what pyproject.toml asks for."""


def read(path: Path) -> dict[str, Pin]:
    """Each package that the lock installs where a release runs, by name."""
    found = {pin.name: pin for pin in _pins(path.read_text())}
    known = {*found, OURS}
    return {name: replace(pin, needed_by=pin.needed_by & known) for name, pin in found.items()}


def merged(locks: Iterable[dict[str, Pin]]) -> dict[str, Pin]:
    """All packages of several locks, which must agree."""
    found: dict[str, Pin] = {}
    for lock in locks:
        for name, pin in lock.items():
            known = found.get(name, pin)
            if known.version != pin.version:
                raise DevError(f"two locks pin {name}: at {known.version} and at {pin.version}: run `make lock`")
            found[name] = replace(pin, needed_by=known.needed_by | pin.needed_by)
    return found


def _pins(text: str) -> Iterator[Pin]:
    for match in PIN.finditer(text):
        requirement = Requirement(match["what"])
        if requirement.marker is not None and not requirement.marker.evaluate(dict(ENVIRONMENT)):
            continue
        (pinned,) = requirement.specifier
        needed_by = frozenset(NEEDED_BY.findall(match["rest"]))
        name = canonicalize_name(requirement.name)
        yield Pin(name, pinned.version, tuple(HASH.findall(match["rest"])), needed_by)
