"""A command ends with one line and the right code, whatever happens inside, and tells nobody a password."""

import json

import pytest
import typer
from typer.testing import CliRunner

from paceline.errors import DatabaseError, PacelineError
from paceline_cli.options import Format
from paceline_cli.output import Output
from paceline_cli.run import Session, command, run, without_password

URL = "postgresql://ann:s3%2Fcret@db:5432/jobs"


class LateError(PacelineError, TimeoutError):
    """Not in time."""


def _end(error: BaseException | None = None, *, verbose: bool = False, code: int | None = None) -> int:
    async def body() -> int | None:
        if error:
            raise error
        return code

    try:
        run(Session(URL, Output(Format.TABLE), verbose), body)
    except typer.Exit as end:
        return end.exit_code
    return 0


def test_an_error_of_ours_is_one_line_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert _end(DatabaseError("the database db says:\n  no")) == 1
    taken = capsys.readouterr()
    assert (taken.out, taken.err) == ("", "error: the database db says: no\n")


def test_a_surprise_is_one_line_too_and_says_how_to_see_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert _end(KeyError("x")) == 1
    assert capsys.readouterr().err == (
        "error: KeyError: 'x' (this should not happen; --verbose shows where it comes from)\n"
    )


def test_the_work_chooses_its_exit_code_and_too_late_is_4() -> None:
    assert _end() == 0
    assert _end(code=3) == 3
    assert _end(LateError("late")) == 4


def test_ctrl_c_is_130_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert _end(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_verbose_shows_where_it_came_from_and_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert _end(RuntimeError(f"cannot parse {URL}, password s3/cret"), verbose=True) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "ann:***@db" in shown
    assert "s3%2Fcret" not in shown
    assert "s3/cret" not in shown.partition("error:")[0]


def test_a_password_is_hidden_in_every_form() -> None:
    assert without_password("x s3%2Fcret y s3/cret z", URL) == "x *** y *** z"
    assert without_password("postgres://me:else@there/db", None) == "postgres://me:***@there/db"


def test_every_command_takes_the_common_options_and_hands_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    seen = []

    @command(app, "say")
    async def say(session: Session, word: str, times: int = 1) -> None:
        """Say it."""
        seen.append((session.given_url, word, times))
        session.out.tell({"word": word}, word)

    monkeypatch.setenv("DATABASE_URL", "postgresql://second/x")
    runner = CliRunner()
    assert json.loads(runner.invoke(app, ["hello", "--times", "3", "--json"]).stdout) == {"word": "hello"}
    monkeypatch.setenv("PACELINE_DATABASE_URL", "postgresql://first/x")
    assert runner.invoke(app, ["hello"]).stdout == "hello\n"
    assert runner.invoke(app, ["hello", "--database-url", "postgresql://given/x", "-o", "json"]).exit_code == 0
    assert seen == [
        ("postgresql://second/x", "hello", 3),
        ("postgresql://first/x", "hello", 1),
        ("postgresql://given/x", "hello", 1),
    ]
    assert runner.invoke(app, ["hello", "-o", "xml"]).exit_code == 2
