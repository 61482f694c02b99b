"""What users install: one wheel that stands alone, without our development tools."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY

pytestmark = pytest.mark.timeout(300)
PACKAGES = {"paceline", "paceline_operator", "paceline_runner", "paceline_gateway", "paceline_cli"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder, REPOSITORY], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def empty_environment(wheel: Path, tmp_path: Path) -> Path:
    """An environment with nothing but the wheel and its pinned dependencies."""
    folder = tmp_path / "empty"
    venv.create(folder, with_pip=True)
    pip: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    lock = REPOSITORY / "requirements" / "base.txt"
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", lock], check=True)
    subprocess.run([*pip, "--no-deps", wheel], check=True)
    return folder / "bin"


def test_it_holds_what_ships_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == PACKAGES
    assert all(f"{package}/py.typed" in names for package in PACKAGES)
    assert {"index.html", "main.js", "pages/pool.js", "base.css"} <= {
        name.removeprefix("paceline_gateway/dashboard/static/") for name in names
    }


def test_the_commands_run_in_an_empty_environment(empty_environment: Path) -> None:
    for command, words in (("paceline", "Usage: paceline "), ("kubectl-paceline", "Usage: kubectl paceline ")):
        done = subprocess.run(
            [empty_environment / command, "--help"], capture_output=True, text=True, check=True, cwd="/"
        )
        assert words in done.stdout
    completed = subprocess.run(
        [empty_environment / "kubectl_complete-paceline", "unta"], capture_output=True, text=True, check=True, cwd="/"
    )
    first, last = completed.stdout.splitlines()
    assert (first.partition("\t")[0], last) == ("untaint", ":4")
    for asked in (["status"], ["taint", "r1", "a:NoClaim"], ["logs", "r1"], ["jobs", "list", "--gateway", "http://x"]):
        token = {"PACELINE_TOKEN": f"ak_{'0' * 12}_{'x' * 43}"}
        lacking = subprocess.run(
            [empty_environment / "paceline", *asked], capture_output=True, text=True, check=False, cwd="/", env=token
        )
        assert (lacking.returncode, lacking.stderr.count("\n")) == (1, 1)
        assert 'pip install "paceline[operator]"' in lacking.stderr
    check: list[str | Path] = [empty_environment / "python", "-m", "pip", "check"]
    assert "No broken requirements" in subprocess.run(check, capture_output=True, text=True, check=True).stdout
