"""How images are built: what a build sees, when it is done again, and that it never has a network."""

import io
import os
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.images import base, build, clean, wheels
from paceline_dev.images.context import Member, members, pack
from paceline_dev.images.recipe import (
    EXAMPLES,
    OPERATOR,
    RECIPES,
    RUNNER,
    Source,
    build_arguments,
    build_key,
    default_tag,
    read_source,
)
from paceline_dev.progress import PlainReporter

SOURCE = Source("0.1.0.dev0", "abc", 1767225601)


def files(root: Path, *names: str, text: str = "x") -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(found: list[Member]) -> list[str]:
    return [member.name for member in found]


# What a build sees


def test_a_build_sees_what_the_ignore_file_lets_in_and_the_wheels_of_the_cache(tmp_path: Path) -> None:
    root, cache = tmp_path / "tree", tmp_path / "wheels"
    seen = ("dev/image/tool", "file/Containerfile", "src/a")
    files(root, *seen, "secret", "src/b.pyc", "src/__pycache__/a", "dev/image/wheels/old.whl")
    (root / ".dockerignore").write_text("# only these\n*\n!src\n!dev/image\n**/*.pyc\n")
    cache.mkdir()
    (cache / "new.whl").touch()
    found = members(root, "file/Containerfile", cache)
    assert names(found) == ["dev/image/tool", "dev/image/wheels/new.whl", "file/Containerfile", "src/a"]


def test_without_an_ignore_file_it_sees_the_folder(tmp_path: Path) -> None:
    files(tmp_path, "Containerfile", "sub/a")
    assert names(members(tmp_path, "Containerfile")) == ["Containerfile", "sub/a"]


def test_the_same_files_give_the_same_bytes_whoever_checked_them_out(tmp_path: Path) -> None:
    packed = []
    for folder, mode in (("one", 0o600), ("two", 0o666)):
        root = files(tmp_path / folder, "Containerfile", "run")
        (root / "Containerfile").chmod(mode)
        (root / "run").chmod(mode | 0o100)
        os.utime(root / "run", (mode, mode))
        into = io.BytesIO()
        pack(members(root, "Containerfile"), into, 1767225601)
        packed.append(into.getvalue())
    assert packed[0] == packed[1]
    with tarfile.open(fileobj=io.BytesIO(packed[0])) as archive:
        assert {(entry.name, entry.mode, entry.uid, entry.mtime) for entry in archive} == {
            ("Containerfile", 0o644, 0, 1767225601),
            ("run", 0o755, 0, 1767225601),
        }


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_names_files_that_are_there(recipe: Any) -> None:
    found = names(members(REPOSITORY / recipe.folder, recipe.containerfile))
    assert recipe.containerfile in found
    assert not [name for name in found if name.startswith(("docs/", "tests/", "bench/", ".git"))]
    if recipe.lock:
        assert f"requirements/{recipe.lock}.txt" in found


# When it is done again


def test_a_key_changes_with_a_file_a_program_bit_an_argument_and_the_parent(tmp_path: Path) -> None:
    root = files(tmp_path, "Containerfile", "a")

    def key(parent: str = "sha256:1", **arguments: str) -> str:
        return build_key(RUNNER, members(root, "Containerfile"), {"BASE": "b", **arguments}, parent)

    first = key()
    assert key() == first
    others = [key("sha256:2"), key(REVISION="r")]
    (root / "a").chmod(0o755)
    others.append(key())
    (root / "a").write_text("b")
    others.append(key())
    assert len({first, *others}) == 5


def test_a_tree_tells_its_commit_and_that_it_was_changed(tmp_path: Path) -> None:
    root = files(tmp_path, "pyproject.toml", text='[project]\nversion = "1.2.3.dev4"\n')
    assert read_source(root) == Source("1.2.3.dev4", "unknown", None)
    assert default_tag(root) == "1.2.3"
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    environment = {**os.environ, "GIT_COMMITTER_DATE": "1767225601 +0000"}
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True, env=environment)
    clean_tree = read_source(root)
    assert (len(clean_tree.revision), clean_tree.epoch) == (40, 1767225601)
    (root / "pyproject.toml").write_text('[project]\nversion = "1.2.4"\n')
    assert read_source(root).revision == f"{clean_tree.revision}-changed"


def test_what_is_tagged_is_what_the_manifests_ask_for() -> None:
    for path, image in (
        ("base/deployment.yaml", OPERATOR),
        ("gateway/deployment.yaml", OPERATOR),
        ("migrate/job.yaml", OPERATOR),
        ("samples/runnergroup.yaml", EXAMPLES),
    ):
        assert f"image: {image.name}:{default_tag()}\n" in (REPOSITORY / "manifests" / path).read_text()
    for file in (REPOSITORY / "runner-image" / "examples").rglob("*Containerfile"):
        assert f"ARG RUNNER={RUNNER.name}:{default_tag()}\n" in file.read_text(), file


# How it is done


def test_a_build_has_no_network_and_no_index() -> None:
    arguments = build_arguments(SOURCE, "some:base")
    options = build.build_options(OPERATOR, "paceline-operator:1", arguments, "key")
    assert options[options.index("--network") + 1] == "none"
    assert {"PIP_NO_INDEX=1", "BASE=some:base", "SOURCE_DATE_EPOCH=1767225601"} <= set(options)
    assert "SOURCE_DATE_EPOCH" not in build_arguments(Source("1", "unknown", None), "b")


def test_wheels_are_taken_by_hash_for_the_image_and_not_for_this_machine(tmp_path: Path) -> None:
    command = wheels.download_command(tmp_path / "runner.txt", "arm64", tmp_path)
    assert "--require-hashes" in command
    assert command[command.index("--only-binary") + 1] == ":all:"
    assert command[command.index("--python-version") + 1] == "3.13"
    assert "manylinux_2_28_aarch64" in command
    with pytest.raises(DevError, match="no images"):
        wheels.download_command(tmp_path / "runner.txt", "riscv64", tmp_path)


def test_another_lock_or_machine_has_other_wheels() -> None:
    cases = (([b"a", b"b"], "amd64"), ([b"a", b"c"], "amd64"), ([b"a", b"b"], "arm64"))
    keys = {wheels.wheels_key(locks, arch) for locks, arch in cases}
    assert len(keys) == 3


# The base


@dataclass
class FakeEngine:
    """Has these images, can pull those."""

    local: bool = False
    has: dict[str, str] = field(default_factory=dict)
    """Name to label."""
    registry: tuple[str, ...] = ()
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def docker(self, *arguments: str | Path, check: bool = True) -> "subprocess.CompletedProcess[str]":
        words = tuple(map(str, arguments))
        self.asked.append(words)
        reference = words[-1]
        if words[0] == "pull" and reference in self.registry:
            self.has[reference] = ""
        if words[0] == "import":
            self.has[reference] = base.base_key()
        found = reference in self.has
        assert found or not check
        answer = self.has.get(reference, "") if "index" in " ".join(words) else "sha256:1"
        return subprocess.CompletedProcess(words, 0 if found else 1, answer if found else "", "")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(base, "find_root_file_system", lambda _: tmp_path / "root.tar.gz")


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("engine", "chosen", "did"),
    [
        (FakeEngine(has={base.PULLED: ""}), base.PULLED, set()),
        (FakeEngine(registry=(base.PULLED,)), base.PULLED, {"pull"}),
        (FakeEngine(), base.MADE, {"pull", "import"}),
        (FakeEngine(local=True, registry=(base.PULLED,)), base.MADE, {"import"}),
        (FakeEngine(local=True, has={base.MADE: "old"}), base.MADE, {"import"}),
        (FakeEngine(local=True, has={base.MADE: base.base_key()}), base.MADE, set()),
    ],
    ids=["there", "pulled", "no registry", "closed", "made long ago", "made"],
)
def test_the_base_is_pulled_where_that_is_possible_and_made_where_not(
    engine: FakeEngine, chosen: str, did: set[str]
) -> None:
    assert base.find_base(engine, PlainReporter(io.StringIO())) == chosen  # type: ignore[arg-type]  # what it uses of one
    assert {words[0] for words in engine.asked} - {"image"} == did


def test_a_cleaned_root_keeps_what_runs_and_tells_nothing_of_where_it_was_made(tmp_path: Path) -> None:
    kept = {"etc/passwd", "usr/bin/python", "usr/share/doc/x/copyright"}
    files(tmp_path, *kept, "usr/share/doc/x/changelog", "usr/share/man/page", "usr/lib/python/__pycache__/a", "tmp/x")
    files(tmp_path, "etc/apt/sources.list", "etc/resolv.conf", "var/log/bootstrap.log", "var/lib/apt/lists/all")
    (tmp_path / "usr/share/doc/y").symlink_to("x")
    clean.clean(tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == kept
    assert all((tmp_path / folder).is_dir() for folder in ("tmp", "var/log", "var/lib/apt/lists"))
