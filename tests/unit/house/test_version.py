"""One version: pyproject.toml says it, and whatever else tells or names it agrees."""

import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline_cli.main import app
from paceline_dev import REPOSITORY
from paceline_dev import version as tool
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import build_arguments, default_tag, project_version, read_source
from paceline_dev.reference.http import described
from paceline_operator.adapters.post import open_session

NAMED = (
    "docs/how-to/install.md", "docs/reference/images.md", "docs/tutorial/first-group.md", "manifests/install.yaml",
    "manifests/chart/paceline/Chart.yaml", "manifests/samples/runnergroup.yaml", "runner-image/examples/Containerfile",
)  # fmt: skip
"""Some of the files that must name it, of each kind one."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What names the version, in a copy."""
    for path in {REPOSITORY / "pyproject.toml", *(each.path for each in tool.places())}:
        copy = tmp_path / path.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return tmp_path


async def test_every_part_tells_the_version_of_the_tree() -> None:
    wanted = project_version()
    assert version("paceline") == wanted, "make .venv/ready"
    assert CliRunner().invoke(app, ["--version"]).output == f"paceline {wanted}\n"
    assert described()["info"]["version"] == wanted
    assert build_arguments(read_source(), "base")["VERSION"] == wanted
    async with open_session() as session:
        assert session.headers["User-Agent"] == f"paceline-operator/{wanted}"


def test_nothing_names_another_release() -> None:
    assert tool.strays() == []
    named = {each.path.relative_to(REPOSITORY).as_posix() for each in tool.places()}
    assert set(NAMED) <= named


def test_no_page_and_no_manifest_names_the_release_in_a_form_that_is_not_looked_for() -> None:
    found = {(each.path, each.line) for each in tool.places()}
    mention = re.compile(rf"paceline.*\b{re.escape(default_tag())}\b")
    for top in tool.SEARCHED:
        for path in (REPOSITORY / top).rglob("*"):
            if path.name.endswith(tool.NAMES):
                lines = enumerate(path.read_text().splitlines(), start=1)
                assert {(path, number) for number, line in lines if mention.search(line)} <= found


def test_a_place_that_was_forgotten_is_told_with_its_line(tree: Path) -> None:
    page = tree / "docs" / "tutorial" / "first-group.md"
    page.write_text(page.read_text().replace(f"paceline-examples:{default_tag()}", "paceline-examples:0.0.9"))
    strays = tool.strays(tree)
    assert len(strays) == 2
    assert re.match(r"docs/tutorial/first-group\.md:\d+: names 0\.0\.9, and this tree becomes ", strays[0])


@pytest.mark.parametrize(("wanted", "release"), [("7.8.9", "7.8.9"), ("7.8.10.dev0", "7.8.10")])
def test_another_version_is_written_wherever_it_is_named_and_the_way_back_is_the_same(
    tree: Path, wanted: str, release: str
) -> None:
    before = {path: path.read_text() for path in tree.rglob("*") if path.is_file()}
    changed = tool.change(wanted, tree)
    assert (project_version(tree), default_tag(tree)) == (wanted, release)
    assert {each.version for each in tool.places(tree)} == {release}
    assert set(changed) == before.keys()
    tool.change(project_version(), tree)
    assert {path: path.read_text() for path in before} == before


@pytest.mark.parametrize("wanted", ["1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.2.3rc1", "1.2.3-dev0", ""])
def test_what_is_no_version_of_ours_is_refused_before_anything_is_written(tree: Path, wanted: str) -> None:
    with pytest.raises(DevError, match=f'"{re.escape(wanted)}" is no version of ours'):
        tool.change(wanted, tree)
    assert project_version(tree) == project_version()
