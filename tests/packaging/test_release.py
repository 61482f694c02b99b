"""A release as its users get it, made from a copy of this tree in which it is one; without the images."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY, version
from paceline_dev.errors import DevError
from paceline_dev.helm.program import Helm
from paceline_dev.mutate import LEFT_OUT
from paceline_dev.progress import PlainReporter
from paceline_dev.release import sums
from paceline_dev.release.make import assemble, make
from paceline_dev.release.subject import look
from paceline_dev.release.verify import same_wheel

pytestmark = pytest.mark.timeout(300)
VERSION = "41.2.0"
DAY = "2026-12-01T12:00:00+00:00"
FILES = {
    "RELEASE_NOTES.md", "SHA256SUMS", "crds.yaml", "install.yaml", f"paceline-{VERSION}-py3-none-any.whl",
    f"paceline-{VERSION}.cdx.json", f"paceline-{VERSION}.tar.gz", f"paceline-{VERSION}.tgz",
    f"paceline-crds-{VERSION}.tgz",
}  # fmt: skip


def committed(place: Path) -> Path:
    """A copy of this tree that is a release, in a repository of its own."""
    shutil.copytree(REPOSITORY, place, ignore=shutil.ignore_patterns(*LEFT_OUT, ".venv-*"), symlinks=True)
    version.change(VERSION, place)
    log = place / "CHANGELOG.md"
    log.write_text(log.read_text().replace("## [Unreleased]", f"## [Unreleased]\n\n## [{VERSION}] - 2026-12-01", 1))
    environment = {**os.environ, "GIT_COMMITTER_DATE": DAY}
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", VERSION]):
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", place, *who, *words], check=True, env={**environment, "GIT_AUTHOR_DATE": DAY})
    return place


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return committed(tmp_path_factory.mktemp("release") / "tree")


@pytest.fixture(scope="module")
def made(tree: Path) -> Path:
    """The release, made and tried."""
    return make(PlainReporter(), tree, images=False)


def test_it_has_all_that_users_install_and_checksums_of_it(made: Path, tree: Path) -> None:
    assert made == tree / "dist" / VERSION
    assert {path.name for path in made.iterdir()} == FILES
    assert sums.read(made).keys() == FILES - {"SHA256SUMS"}
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made, capture_output=True, check=True)
    assert not [*tree.glob("dist/.*")], "nothing is left of the way there"


def test_the_same_commit_gives_the_same_bytes_to_everybody(
    made: Path, helm: Helm, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before = os.umask(0o077)
    request.addfinalizer(lambda: os.umask(before))
    other = committed(tmp_path / "elsewhere")
    for path in other.rglob("*.py"):
        os.utime(path, (1, 1))
    (again := tmp_path / "again").mkdir()
    assemble(look(other), again, helm, PlainReporter(), with_images=False)
    assert sums.read(again) == sums.read(made)


def test_manifests_and_charts_are_those_of_the_tree_and_ask_for_its_images(made: Path, tree: Path, helm: Helm) -> None:
    assert f"image: paceline-operator:{VERSION}\n" in (made / "install.yaml").read_text()
    for name in ("paceline", "paceline-crds"):
        packed = str(made / f"{name}-{VERSION}.tgz")
        meta = yaml.safe_load(helm.run("show", "chart", packed).stdout)
        assert (meta["name"], meta["version"], meta["appVersion"]) == (name, VERSION, VERSION)
        chart = tree / "manifests" / "chart" / name
        assert helm.template(packed, "ours") == helm.template(str(chart), "ours"), "it is the chart of the tree"
    kinds = [*yaml.safe_load_all((made / "crds.yaml").read_text())]
    assert {each["spec"]["names"]["kind"] for each in kinds} == {"RunnerGroup", "Runner"}


def test_the_bill_names_every_package_and_the_commit(made: Path, tree: Path) -> None:
    bill = json.loads((made / f"paceline-{VERSION}.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/paceline@{VERSION}"
    assert bill["metadata"]["timestamp"] == DAY
    commit = subprocess.run(["git", "-C", tree, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert bill["metadata"]["properties"] == [{"name": "paceline:commit", "value": commit.stdout.strip()}]
    assert {"pydantic", "kopf", "fastapi", "uvloop"} <= {each["name"] for each in bill["components"]}


def test_its_notes_are_those_of_the_change_log(made: Path) -> None:
    said = (made / "RELEASE_NOTES.md").read_text()
    assert said.startswith(f"# Paceline {VERSION}\n\n### ")
    assert "## [" not in said


def test_an_sdist_that_lacks_something_is_not_let_out(made: Path, tree: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "lacking").mkdir()
    shutil.copy(made / f"paceline-{VERSION}-py3-none-any.whl", folder)
    with (
        tarfile.open(made / f"paceline-{VERSION}.tar.gz") as whole,
        tarfile.open(folder / f"paceline-{VERSION}.tar.gz", "w:gz") as lacking,
    ):
        for member in whole.getmembers():
            if not member.name.endswith("sdk/paceline/py.typed"):
                lacking.addfile(member, whole.extractfile(member) if member.isfile() else None)
    with pytest.raises(DevError, match=r"makes another paceline-.*whl than this tree"):
        same_wheel(look(tree), folder, tmp_path / "scratch")


def test_a_tree_that_has_changed_since_makes_nothing(tree: Path, made: Path) -> None:
    before = sums.read(made)
    (stray := tree / "sdk" / "paceline" / "stray.py").touch()
    try:
        with pytest.raises(DevError, match=r"the tree is not what was committed \(sdk/paceline/stray\.py\)"):
            make(PlainReporter(), tree, images=False)
    finally:
        stray.unlink()
    assert sums.read(made) == before
