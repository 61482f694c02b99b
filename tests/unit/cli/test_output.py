"""Tables for people and JSON for programs."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from paceline_cli.options import Format
from paceline_cli.output import GAP, Column, Output, ago, fitting, number, span

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    id: int
    error: str | None
    at: datetime = NOW


COLUMNS: list[Column[Row]] = [
    Column("id", lambda row: row.id, right=True),
    Column("at", lambda row: ago(row.at, NOW), wide=True),
    Column("error", lambda row: row.error, flex=True),
]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (42, "42s"),
        (185, "3m5s"),
        (180, "3m"),
        (725, "12m"),
        (5400, "1h30m"),
        (187_200, "2d4h"),
    ],
)
def test_a_span_has_at_most_two_units(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_times_are_told_from_now() -> None:
    assert ago(NOW - timedelta(minutes=3), NOW) == "3m ago"
    assert ago(NOW + timedelta(minutes=3), NOW) == "in 3m"
    assert ago(NOW, NOW) == "now"
    assert ago(None, NOW) == "-"


def test_limits_read_as_numbers_or_none() -> None:
    assert [number(None), number(0.5), number(100_000)] == ["none", "0.5", "100,000"]


def test_json_has_all_fields_with_iso_times_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.JSON).rows([Row(1, "äöü")], COLUMNS, none="no rows")
    taken = capsys.readouterr()
    assert json.loads(taken.out) == [{"id": 1, "error": "äöü", "at": "2026-05-01T12:00:00+00:00"}]
    assert "äöü" in taken.out
    assert taken.err == ""


def test_an_empty_list_is_json_too_and_a_note_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.JSON).rows([], COLUMNS, none="no rows")
    assert json.loads(capsys.readouterr().out) == []
    Output(Format.TABLE).rows([], COLUMNS, none="no rows")
    taken = capsys.readouterr()
    assert (taken.out, taken.err) == ("", "no rows\n")


def test_a_narrow_terminal_cuts_texts_and_never_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    Output(Format.TABLE).rows([Row(123_456_789_012, "x" * 100)], COLUMNS, none="")
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "ERROR"]
    assert line.startswith("123456789012  xxx")
    assert line.endswith("…")
    assert len(line) == 30


def test_without_a_terminal_and_with_wide_nothing_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    Output(Format.TABLE).rows([Row(1, "x" * 300)], COLUMNS, none="")
    assert "x" * 300 in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "30")
    Output(Format.WIDE).rows([Row(1, "x" * 300)], COLUMNS, none="")
    shown = capsys.readouterr().out
    assert "x" * 300 in shown
    assert "now" in shown


def test_control_characters_of_a_job_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Output(Format.TABLE).rows([Row(1, "a\x1b]0;title\x07b [bold]c[/bold]")], COLUMNS, none="")
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]c[/bold]" in shown


def test_the_widest_flexible_column_gives_way_first() -> None:
    assert fitting([5, 40, 20], [False, True, True], 60 + 2 * GAP) == [5, 35, 20]
    assert fitting([5, 10], [False, True], 80) == [5, 10]
    assert fitting([50, 10], [False, True], 20) == [50, 8]
