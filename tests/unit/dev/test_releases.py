"""The tree of a release: a clean checkout of its commit, or a clear word why there is none."""

import subprocess
from pathlib import Path

import pytest

from paceline_dev import releases
from paceline_dev.errors import DevError
from paceline_dev.images.recipe import read_source
from paceline_dev.progress import PlainReporter
from paceline_dev.releases import NoHistoryError, source_tree


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, the first of which was released as 1.0."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    for version in ("1.0", "2.0"):
        (folder / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", version)
    monkeypatch.setattr(releases, "RELEASES", {"1.0": git(folder, "rev-parse", "HEAD~1"), "9.0": "9" * 40})
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path / "cache"))
    return folder


def test_it_is_the_commit_of_the_release_and_knows_so(repository: Path) -> None:
    tree = source_tree("1.0", PlainReporter(), repository)
    source = read_source(tree)
    assert (source.version, source.revision) == ("1.0", git(repository, "rev-parse", "HEAD~1"))
    (tree / "mark").touch()
    assert (source_tree("1.0", PlainReporter(), repository) / "mark").exists(), "it is made once"


def test_a_clone_that_does_not_reach_back_says_how_to_get_the_rest(repository: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(shallow))
    with pytest.raises(NoHistoryError, match=r"release 1\.0 from: git fetch --unshallow"):
        source_tree("1.0", PlainReporter(), shallow)


def test_a_commit_that_is_in_no_history_is_an_error_of_the_list(repository: Path) -> None:
    with pytest.raises(DevError, match=r"releases\.toml: there is no commit 9{40}, which 9\.0 is said to be") as caught:
        source_tree("9.0", PlainReporter(), repository)
    assert not isinstance(caught.value, NoHistoryError)
