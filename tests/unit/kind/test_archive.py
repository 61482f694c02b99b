"""Images written without an engine: what `docker load` and `ctr images import` read."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from paceline_dev.kind.archive import Image, Program, Tree, write_archive


@pytest.fixture
def images(tmp_path: Path) -> list[Image]:
    program, tree = tmp_path / "program", tmp_path / "tree"
    program.write_bytes(b"\x7fELF program")
    (tree / "usr" / "sbin").mkdir(parents=True)
    (tree / "usr" / "sbin" / "ip").write_text("ip")
    (tree / "sbin").symlink_to("usr/sbin")
    return [
        Image(
            "registry/one:v1",
            (Tree(tree), Program(program, "/usr/local/bin/one")),
            ("/usr/local/bin/one",),
            "65532:65532",
        ),
        Image("registry/two:v1", (Tree(tree), Program(program, "/two"))),
    ]


def read(path: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    with tarfile.open(path) as archive:
        files = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]  # only files are in it
    return files, json.loads(files["manifest.json"])


def layer(tmp_path: Path, data: bytes) -> dict[str, tarfile.TarInfo]:
    (tmp_path / "layer.tar").write_bytes(data)
    with tarfile.open(tmp_path / "layer.tar") as packed:
        return {entry.name: entry for entry in packed}


def test_every_image_has_its_configuration_and_layers_by_their_digests(tmp_path: Path, images: list[Image]) -> None:
    write_archive(tmp_path / "out.tar", images)
    files, manifest = read(tmp_path / "out.tar")

    assert [entry["RepoTags"] for entry in manifest] == [["registry/one:v1"], ["registry/two:v1"]]
    for entry in manifest:
        config = json.loads(files[entry["Config"]])
        assert entry["Config"] == f"{hashlib.sha256(files[entry['Config']]).hexdigest()}.json"
        digests = [hashlib.sha256(files[name]).hexdigest() for name in entry["Layers"]]
        assert entry["Layers"] == [f"{digest}.tar" for digest in digests]
        assert config["rootfs"]["diff_ids"] == [f"sha256:{digest}" for digest in digests]
    one = json.loads(files[manifest[0]["Config"]])["config"]
    assert (one["Entrypoint"], one["User"]) == (["/usr/local/bin/one"], "65532:65532")


def test_a_layer_that_two_images_share_is_written_once(tmp_path: Path, images: list[Image]) -> None:
    write_archive(tmp_path / "out.tar", images)
    files, manifest = read(tmp_path / "out.tar")
    assert manifest[0]["Layers"][0] == manifest[1]["Layers"][0]
    assert len([name for name in files if name.endswith(".tar")]) == 3
    assert not (tmp_path / "out.layer").exists()


def test_a_program_can_be_run_and_belongs_to_root(tmp_path: Path, images: list[Image]) -> None:
    write_archive(tmp_path / "out.tar", images)
    files, manifest = read(tmp_path / "out.tar")

    entries = layer(tmp_path, files[manifest[0]["Layers"][1]])

    assert list(entries) == ["usr", "usr/local", "usr/local/bin", "usr/local/bin/one"]
    program = entries["usr/local/bin/one"]
    assert (program.mode, program.uid, program.gid, program.mtime) == (0o755, 0, 0, 0)


def test_links_stay_links(tmp_path: Path, images: list[Image]) -> None:
    write_archive(tmp_path / "out.tar", images)
    files, manifest = read(tmp_path / "out.tar")
    assert layer(tmp_path, files[manifest[0]["Layers"][0]])["sbin"].linkname == "usr/sbin"


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, images: list[Image]) -> None:
    write_archive(tmp_path / "one.tar", images)
    (tmp_path / "program").touch()
    write_archive(tmp_path / "two.tar", images)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
