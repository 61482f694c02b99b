"""Output of a job that is followed: each part once, also when its beginning is no longer kept."""

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from paceline.seen import Attempt
from paceline_cli.logs import Shown, clean, new_part
from paceline_cli.options import Format
from paceline_cli.output import Output
from paceline_cli.run import Session

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("known", "now", "new"),
    [("", "a\n", "a\n"), ("a\n", "a\nb\n", "b\n"), ("a\nb\n", "b\nc\n", "c\n"), ("a\n", "x\n", "x\n"), ("a", "a", "")],
)
def test_only_what_was_added_comes(known: str, now: str, new: str) -> None:
    assert new_part(known, now) == new


def attempt(fence: int, output: str, **given: Any) -> Attempt:
    empty = {each.name: None for each in dataclasses.fields(Attempt)}
    return Attempt(**{**empty, "fence": fence, "runner": "r1", "outcome": "running", "output": output, **given})


def test_attempts_come_in_their_order_and_their_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(Session(None, Output(Format.TABLE)))
    failed = attempt(1, "one\n", outcome="failed", cause="Failed", error="it broke", ended_at=NOW)
    shown.attempts([attempt(2, "two\n"), failed])
    shown.attempts([attempt(2, "two\nthree\n"), failed])
    shown.attempts([attempt(2, "two\nthree\n", outcome="done", ended_at=NOW), failed])
    assert capsys.readouterr().out == (
        "\nAttempt 1 on r1\none\n-- failed (Failed): it broke\n\nAttempt 2 on r1\ntwo\nthree\n-- done\n"
    )


def test_what_a_handler_prints_does_not_move_the_cursor() -> None:
    assert clean("a\x1b[2Jb\tc\n") == "a\ufffd[2Jb\tc\n"
