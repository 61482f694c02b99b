"""What may be released: a commit of its own version with notes. Everything that speaks against it is told at once."""

import subprocess
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.release.changelog import notes
from paceline_dev.release.subject import look

LOG = """\
# Changelog

## [Unreleased]

- Soon.

## [1.2.0] - 2026-12-01

### Added

- A thing.

## [1.1.0] - 2026-11-01

- Old.
"""


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "x")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that can be released as 1.2.0."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(LOG)
    (tmp_path / "releases.toml").write_text(f'[releases]\n"1.1.0" = "{"1" * 40}"\n')
    (tmp_path / "README.md").write_text("`paceline-operator:1.2.0`\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def set_version(root: Path, version: str) -> None:
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (root / "README.md").write_text(f"`paceline-operator:{version.partition('.dev')[0]}`\n")
    commit(root)


def test_a_commit_with_notes_is_what_is_released(tree: Path) -> None:
    subject = look(tree)
    assert (subject.version, subject.chart_version, subject.snapshot) == ("1.2.0", "1.2.0", False)
    assert subject.revision == git(tree, "rev-parse", "HEAD")
    assert str(subject.epoch) == git(tree, "log", "-1", "--format=%ct")
    assert subject.notes == "### Added\n\n- A thing.\n"


@pytest.mark.parametrize(("name", "text"), [("README.md", "other\n"), ("new.py", "x = 1\n")], ids=["changed", "new"])
def test_a_tree_that_is_not_what_was_committed_is_refused(tree: Path, name: str, text: str) -> None:
    (tree / name).write_text(text)
    with pytest.raises(
        DevError, match=rf"the tree is not what was committed \({name}\): commit or remove that, or add SN"
    ):
        look(tree)


def test_a_version_between_two_releases_is_refused_with_the_way_on(tree: Path) -> None:
    set_version(tree, "1.3.0.dev0")
    with pytest.raises(
        DevError, match=r"1\.3\.0\.dev0 is the version between.*paceline_dev version 1\.3\.0` and commit"
    ):
        look(tree)


def test_what_is_out_is_never_made_anew(tree: Path) -> None:
    set_version(tree, "1.1.0")
    with pytest.raises(DevError, match=r"1\.1\.0 has been released \(releases\.toml\)"):
        look(tree)


def test_a_version_without_notes_is_refused(tree: Path) -> None:
    set_version(tree, "1.2.1")
    with pytest.raises(
        DevError, match=r"CHANGELOG\.md has no section \[1\.2\.1\]: put `## \[1\.2\.1\] - YYYY-MM-DD` under"
    ):
        look(tree)


def test_all_that_speaks_against_it_is_told_at_once(tree: Path) -> None:
    (tree / "README.md").write_text("`paceline-operator:1.1.0`\n")
    (tree / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(DevError) as caught:
        look(tree)
    first, *faults = str(caught.value).splitlines()
    assert first == "this tree cannot be released:"
    assert [fault.split(" ")[0] for fault in faults] == ["README.md:1:", "the", "CHANGELOG.md"]


def test_a_snapshot_may_be_of_any_tree_and_says_what_it_is_of(tree: Path) -> None:
    set_version(tree, "1.3.0.dev0")
    (tree / "new.py").touch()
    (tree / "releases.toml").write_text("")
    subject = look(tree, snapshot=True)
    assert (subject.version, subject.chart_version, subject.snapshot) == ("1.3.0.dev0", "1.3.0-dev0", True)
    assert subject.revision.endswith("-changed")
    assert subject.notes == "- Soon.\n"


def test_what_is_in_no_git_has_no_time_and_no_commit(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    with pytest.raises(DevError, match="is no git checkout"):
        look(tmp_path, snapshot=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("## [1.0.0]\n\n- x\n", r"the section \[1\.0\.0\] has no day"),
        ("## [1.0.0] - soon\n\n- x\n", "has no day"),
        ("## [1.0.0] - 2026-12-01\n\n## [0.9.0] - 2026-11-01\n\n- x\n", "is empty"),
        ("## [1.0.0.dev0] - 2026-12-01\n\n- x\n", r"has no section \[1\.0\.0\]"),
    ],
)
def test_notes_that_cannot_be_cut_are_an_error_of_the_change_log(text: str, said: str) -> None:
    with pytest.raises(DevError, match=said):
        notes(text, "1.0.0")


def test_the_last_section_ends_with_the_file() -> None:
    assert notes(LOG, "1.1.0") == "- Old.\n"
