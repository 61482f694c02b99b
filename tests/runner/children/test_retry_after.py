"""What a server may say about the next try."""

from datetime import UTC, datetime, timedelta

import pytest

from paceline_runner.children.http import retry_after

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("0", timedelta(0)),
        ("120", timedelta(minutes=2)),
        ("999999999999", timedelta(days=365)),
        ("Tue, 17 Nov 2026 12:01:00 GMT", timedelta(minutes=1)),
        ("Tue, 17 Nov 2026 11:00:00 GMT", timedelta(0)),
        ("Tue, 17 Nov 9999 11:00:00 GMT", timedelta(days=365)),
    ],
)
def test_retry_after_is_seconds_or_a_date(said: str | None, wait: timedelta | None) -> None:
    assert retry_after(said, NOW) == wait
