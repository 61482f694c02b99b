"""The demo's exit: what is wrong is an error that names it."""

from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from paceline.errors import DatabaseError
from paceline_dev.demo import play as module
from paceline_dev.demo.stage import Setting, Stage
from paceline_dev.errors import DevError


def no_stage() -> AbstractAsyncContextManager[Stage]:
    raise AssertionError("nobody asks for it here")


NOWHERE = Setting(lambda _: nullcontext(no_stage), "nothing is left")


@pytest.fixture(autouse=True)
def signals_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)


def _tells(monkeypatch: pytest.MonkeyPatch, bad: list[str] | Exception) -> None:
    async def tell(*_: object) -> list[str]:
        if isinstance(bad, Exception):
            raise bad
        return bad

    monkeypatch.setattr(module, "_tell", tell)


def test_a_good_run_ends_well_and_says_what_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _tells(monkeypatch, [])
    module.play(NOWHERE, 4)
    assert capsys.readouterr().err == "the end: nothing is left\n"


def test_a_wrong_figure_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _tells(monkeypatch, ["jobs lost: 1 (wanted 0)"])
    with pytest.raises(DevError, match=r"not as promised: jobs lost: 1 \(wanted 0\)"):
        module.play(NOWHERE, 4)


def test_a_database_that_goes_away_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _tells(monkeypatch, DatabaseError("the database is gone"))
    with pytest.raises(DevError, match="the database is gone"):
        module.play(NOWHERE, 4)
