"""The demo's exit: what is wrong is an error that names it."""

from contextlib import nullcontext

import pytest

from paceline.errors import DatabaseError
from paceline_dev.demo import play as module
from paceline_dev.errors import DevError


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_binaries", lambda _: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    for name in ("PostgresServer", "ControlPlane"):
        monkeypatch.setattr(getattr(module, name), "start", lambda *_: nullcontext())


def _tells(monkeypatch: pytest.MonkeyPatch, bad: list[str] | Exception) -> None:
    async def tell(*_: object) -> list[str]:
        if isinstance(bad, Exception):
            raise bad
        return bad

    monkeypatch.setattr(module, "_tell", tell)


def test_a_good_run_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    _tells(monkeypatch, [])
    module.play(4)


def test_a_wrong_figure_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _tells(monkeypatch, ["jobs lost: 1 (wanted 0)"])
    with pytest.raises(DevError, match=r"not as promised: jobs lost: 1 \(wanted 0\)"):
        module.play(4)


def test_a_database_that_goes_away_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _tells(monkeypatch, DatabaseError("the database is gone"))
    with pytest.raises(DevError, match="the database is gone"):
        module.play(4)
