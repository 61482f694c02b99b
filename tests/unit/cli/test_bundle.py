"""The file of a report: whole or not there, and its owner's alone."""

import tarfile
from pathlib import Path

import pytest

from paceline.errors import InvalidInputError
from paceline_cli.report.bundle import Bundle
from postgres.cli.process import unpacked


def test_all_is_below_a_folder_of_its_name_and_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "report.tar.gz"
    with Bundle(file) as bundle:
        bundle.add("a/b.log", "text")
        bundle.add_json("c.json", {"ä": 1})
    assert file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as archive:
        assert {each.name.partition("/")[0] for each in archive} == {"report"}
        assert unpacked(archive) == {"a/b.log": "text", "c.json": '{\n  "ä": 1\n}\n'}
    assert [each["name"] for each in bundle.files] == ["a/b.log", "c.json"]


def test_one_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "report.tar.gz"
    file.write_text("mine")
    with pytest.raises(InvalidInputError, match="is there already: choose another name with --file"), Bundle(file):
        pass
    assert file.read_text() == "mine"


def test_of_one_that_failed_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(TypeError), Bundle(tmp_path / "report.tar.gz") as bundle:
        bundle.add_json("a", {("no", "key"): 1})
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="choose another --file"), Bundle(tmp_path / "none" / "report.tar.gz"):
        pass
