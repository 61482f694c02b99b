"""What a bill of materials is told: what the locks pin, who needs it, and what an image really holds."""

from pathlib import Path
from typing import Any

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import EXAMPLES, RUNNER, project_version
from paceline_dev.release import lock
from paceline_dev.release.archive import Contents, Debian
from paceline_dev.release.sbom import of_distribution, of_image
from paceline_dev.release.subject import Subject

ONE, TWO = "1" * 64, "2" * 64
LOCK = f"""\
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:{ONE}
    # via typer
cffi==2.1.1 ; platform_python_implementation != 'PyPy' \\
    --hash=sha256:{ONE} \\
    --hash=sha256:{TWO}
    # via
    #   -c requirements/dev.txt
    #   colorama
    #   Typer
typer[all]==0.29.0 \\
    --hash=sha256:{TWO}
    # via paceline (pyproject.toml)
"""
SUBJECT = Subject(REPOSITORY, project_version(), "abc", 1767225601, "- x\n")


@pytest.fixture
def pins(tmp_path: Path) -> dict[str, lock.Pin]:
    (tmp_path / "some.txt").write_text(LOCK.replace("Typer", "typer"))
    return lock.read(tmp_path / "some.txt")


def contents(interpreter: str = "", **python: str) -> Contents:
    pinned = {name: pin.version for name, pin in lock.read(REPOSITORY / "requirements" / "runner.txt").items()}
    installed = pinned | {"paceline": project_version()} | python
    return Contents((), "python:3.13-slim", interpreter, "debian-13", (Debian("tzdata", "2026a-1", "all"),), installed)


def parts(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in told["parts"]}


def test_a_lock_tells_versions_hashes_and_who_needs_what_where_a_release_runs(pins: dict[str, lock.Pin]) -> None:
    assert pins == {
        "cffi": lock.Pin("cffi", "2.1.1", (ONE, TWO), frozenset({"typer"})),
        "typer": lock.Pin("typer", "0.29.0", (TWO,), frozenset({"paceline"})),
    }


def test_two_locks_that_pin_different_versions_are_no_release(pins: dict[str, lock.Pin]) -> None:
    other = {"typer": lock.Pin("typer", "0.30.0", (), frozenset())}
    with pytest.raises(DevError, match=r"two locks pin typer: at 0\.29\.0 and at 0\.30\.0"):
        lock.merged([pins, other])


@pytest.mark.parametrize("name", ["base", "runner", "operator", "dev"])
def test_every_pin_of_our_locks_is_read_with_its_hashes(name: str) -> None:
    path = REPOSITORY / "requirements" / f"{name}.txt"
    text = path.read_text()
    found = lock.read(path)
    elsewhere = text.count("sys_platform == 'win32'")
    assert len(found) == sum(line[:1].isalnum() for line in text.splitlines()) - elsewhere
    assert all(pin.hashes and pin.needed_by for pin in found.values())


def test_the_distribution_is_what_its_locks_pin() -> None:
    told = of_distribution(SUBJECT)
    assert {"python/pydantic-core", "python/aiohttp", "python/kopf", "python/fastapi", "python/uvloop"} <= parts(
        told
    ).keys()
    assert not {"python/pytest", "python/ruff", "python/colorama"} & parts(told).keys()
    assert {"python/kopf", "python/typer"} <= set(told["main"]["needs"])
    assert "python/pydantic-core" in parts(told)["python/pydantic"]["needs"]
    assert "python/pydantic-core" not in told["main"]["needs"]


@pytest.mark.parametrize("recipe", [RUNNER, EXAMPLES], ids=lambda recipe: recipe.name)
def test_an_image_is_its_base_and_what_its_lock_pins(recipe: Any) -> None:
    told = of_image(SUBJECT, recipe, contents())
    assert told["properties"] == {"paceline:commit": "abc", "paceline:base": "python:3.13-slim"}
    assert parts(told)["debian/tzdata/all"]["qualifiers"] == {"arch": "all", "distro": "debian-13"}
    assert set(told["main"]["needs"]) == {"python/paceline", "debian/tzdata/all"}
    assert "python/kopf" not in parts(told)


def test_a_python_that_is_no_package_is_named_too() -> None:
    told = of_image(SUBJECT, RUNNER, contents("3.13.9"))
    assert (parts(told)["python"]["name"], parts(told)["python"]["version"]) == ("python", "3.13.9")
    assert "python" in told["main"]["needs"]


@pytest.mark.parametrize(
    ("python", "said"),
    [({"typer": "0.1"}, "typer 0.1 instead of"), ({"extra": "1"}, "extra 1 instead of nothing")],
    ids=["another", "more"],
)
def test_an_image_that_is_not_what_its_lock_pins_is_an_error(python: dict[str, str], said: str) -> None:
    with pytest.raises(DevError, match=f"paceline-runner is not what its lock pins: {said}"):
        of_image(SUBJECT, RUNNER, contents(**python))
