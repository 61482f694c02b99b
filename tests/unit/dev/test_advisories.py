"""What is made of pip-audit's answers, and of a source that does not answer."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from paceline.testing.scratch import free_ports
from paceline_dev import REPOSITORY, advisories
from paceline_dev.errors import DevError
from paceline_dev.progress import PlainReporter

CLEAN = {"name": "clean", "version": "1.0", "vulns": []}
HOLEY = {"name": "holey", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1", "3.0"]}]}


class Source(BaseHTTPRequestHandler):
    """Knows no such way, which is an answer."""

    def do_HEAD(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Nobody wants to know."""


@pytest.fixture
def source() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Source) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/query"
        server.shutdown()


def program(folder: Path, said: str, code: int = 0) -> Path:
    """Something that answers as pip-audit would."""
    (folder / "answer").write_text(said)
    path = folder / "pip-audit"
    script = f'echo "$@" > {folder}/asked; cat {folder}/answer; echo "why: no idea" >&2; exit {code}'
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def told(*dependencies: object) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str) -> Path:
    """With a source that answers; the folder of a pip-audit that is installed."""
    monkeypatch.setenv("PACELINE_ADVISORIES", source)
    monkeypatch.setattr(advisories, "installed", lambda _: tmp_path / "pip-audit")
    return tmp_path


def test_without_a_source_nothing_is_said_to_be_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PACELINE_ADVISORIES", f"http://127.0.0.1:{free_ports(1)[0]}/query")
    advisories.audit(PlainReporter())
    said = capsys.readouterr().err
    assert said.startswith("not audited: no advisory source can be reached (http://127.0.0.1:")
    assert "no known hole" not in said


def test_what_is_known_is_told_with_the_version_that_mends_it(
    audited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(audited, told(CLEAN, HOLEY, HOLEY), code=1)
    with pytest.raises(DevError, match="1 known holes"):
        advisories.audit(PlainReporter())
    assert "holey 2.0: PYSEC-1 (mended in 2.1, 3.0)" in capsys.readouterr().err


def test_every_lock_file_is_asked_about(audited: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    program(audited, told(CLEAN))
    advisories.audit(PlainReporter())
    asked = (audited / "asked").read_text().split()
    locks = {str(path) for path in (REPOSITORY / "requirements").glob("*.txt")}
    assert {asked[place + 1] for place, word in enumerate(asked) if word == "--requirement"} == locks
    assert f"--osv-url={source}" in asked
    assert f"no known hole in what {len(locks)} lock files pin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "has not answered: why: no idea"),
        ("{}", "has not answered"),
        (told({"name": "odd", "skip_reason": "not on any index"}), "has left out odd: not on any index"),
    ],
    ids=["silent", "empty", "left out"],
)
def test_no_answer_is_no_good_news(audited: Path, said: str, why: str) -> None:
    program(audited, said, code=1)
    with pytest.raises(DevError, match=why):
        advisories.audit(PlainReporter())
