"""The layout shows the architecture, and some of its traps are invisible until they close."""

import re
import tomllib
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY

ADDRESS = re.compile(r"https?://|--(extra-)?index-url|--find-links")


def test_operator_is_a_source_root_and_not_a_package() -> None:
    """An operator/__init__.py would shadow the standard library's operator module for everybody."""
    assert (REPOSITORY / "operator").is_dir()
    assert not (REPOSITORY / "operator" / "__init__.py").exists()


@pytest.mark.parametrize("lock", sorted((REPOSITORY / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_a_lock_file_pins_by_hash_and_names_no_address(lock: Path) -> None:
    text = lock.read_text()
    pinned = re.findall(r"^[a-z0-9][\w.-]*(?:\[[\w,-]+\])?==", text, re.MULTILINE)
    assert pinned
    assert text.count("--hash=sha256:") >= len(pinned)
    assert not ADDRESS.search(text)


def test_every_root_of_the_wheel_is_found_in_an_editable_install() -> None:
    build = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    roots = {package.split("/")[0] for package in build["targets"]["wheel"]["packages"]}
    assert roots <= set(build["dev-mode-dirs"])
    assert "dev" not in roots


def test_the_readme_names_the_two_commands() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme
