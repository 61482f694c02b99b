"""A payload that is not JSON is named, with the fix that the shell needs."""

import io
from pathlib import Path

import pytest
import typer

from paceline.errors import InvalidInputError
from paceline_cli.payload import read_payload

USAGE = "paceline enqueue mail"


def test_json_of_every_kind_is_taken() -> None:
    assert read_payload('{"to": "ann"}', None, USAGE) == {"to": "ann"}
    assert read_payload("5", None, USAGE) == 5
    assert read_payload(None, None, USAGE) is None


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("hello", """run paceline enqueue mail '"hello"'"""),
        ("{to: ann}", """run paceline enqueue mail '{"to": "ann"}'"""),
        ("it's", """run paceline enqueue mail '"it'"'"'s"'"""),
    ],
)
def test_what_is_not_json_is_quoted_with_the_fix(text: str, fix: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_payload(text, None, USAGE)
    assert str(caught.value).startswith(f"payload {text} is not JSON (")
    assert str(caught.value).endswith(fix)


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_payload("x" * 10_000, None, USAGE)
    assert len(str(caught.value)) < 250


def test_a_payload_comes_from_a_file_or_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"a":\n[1, 2]}')
    assert read_payload(None, file, USAGE) == {"a": [1, 2]}
    for text, path in (("-", None), (None, Path("-"))):
        monkeypatch.setattr("sys.stdin", io.StringIO("[1]"))
        assert read_payload(text, path, USAGE) == [1]


def test_a_file_that_is_not_there_or_is_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none.json cannot be read: No such file"):
        read_payload(None, tmp_path / "none.json", USAGE)
    broken = tmp_path / "broken.json"
    broken.write_text('{\n"a": }')
    with pytest.raises(InvalidInputError, match=r"broken.json is not JSON \(expecting value at line 2 column 6\)"):
        read_payload(None, broken, USAGE)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match=r"broken.json cannot be read"):
        read_payload(None, broken, USAGE)


def test_a_payload_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="twice"):
        read_payload("1", tmp_path / "x", USAGE)
