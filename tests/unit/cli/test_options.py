"""What is typed, read strictly: a wrong value is an error that names the form, never a guess."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from paceline_cli.options import back_from, chosen_pool, duration, limit, moment, moment_or_age, whole_limit

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("10m", 600), ("2h", 7200), ("3d", 259_200), ("1h30m", 5400), ("1d2h3m4s", 93_784), ("0.5s", 0.5)],
)
def test_a_duration_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m5", "5m3h", "-5m", "1.5h", "5minutes", "99999999999999d", "٣m٣"])
def test_a_bad_duration_is_quoted_with_the_form(text: str) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        duration(text)
    assert caught.value.message == f'"{text}" is no duration (write it like 30s, 10m, 2h, 3d or 1h30m)'


def test_a_moment_needs_a_zone_and_becomes_utc() -> None:
    assert moment("2026-05-01T10:00:00+02:00") == datetime(2026, 5, 1, 8, tzinfo=UTC)
    assert moment("2026-05-01T08:00:00Z").tzinfo is UTC
    with pytest.raises(typer.BadParameter, match="has no time zone"):
        moment("2026-05-01T08:00:00")
    with pytest.raises(typer.BadParameter, match='"tomorrow" is no moment'):
        moment("tomorrow")


def test_an_age_counts_back_from_the_databases_now() -> None:
    assert back_from(NOW, moment_or_age("2h")) == NOW - timedelta(hours=2)
    assert back_from(NOW, moment_or_age("2026-05-01T08:00:00Z")) == datetime(2026, 5, 1, 8, tzinfo=UTC)
    assert back_from(NOW, None) is None
    for bad in ("yesterday", ""):
        with pytest.raises(typer.BadParameter, match="1h30m"):
            moment_or_age(bad)


def test_none_removes_a_limit_and_nonsense_is_refused() -> None:
    assert limit("none") == -1
    assert limit("0.5") == 0.5
    assert whole_limit("100") == 100
    assert whole_limit("none") == -1
    for bad in ("0", "-1", "nan", "inf", "many", ""):
        with pytest.raises(typer.BadParameter, match="is no limit"):
            limit(bad)
    for bad in ("1.5", "1e300"):
        with pytest.raises(typer.BadParameter, match="whole number"):
            whole_limit(bad)


def test_an_argument_wins_over_the_variable_and_not_over_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_POOL", "from-env")
    assert chosen_pool("builds", "from-env") == "builds"
    assert chosen_pool(None, "from-env") == "from-env"
    with pytest.raises(typer.BadParameter, match="two pools are given, builds and other"):
        chosen_pool("builds", "other")
