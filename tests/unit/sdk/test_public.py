"""What `import paceline` gives, and what it costs."""

import subprocess
import sys

import pytest

import paceline


def test_every_public_name_can_be_had() -> None:
    loaded = {name: getattr(paceline, name) for name in paceline.__all__}
    assert {value.__name__ for value in loaded.values()} == set(loaded)
    assert set(paceline.__all__) <= set(dir(paceline))


def test_every_error_of_ours_is_public_under_one_root() -> None:
    from paceline import errors

    named = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert named <= set(paceline.__all__)
    assert all(issubclass(getattr(errors, name), paceline.PacelineError) for name in named)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'paceline' has no attribute 'Quueue'"):
        paceline.Quueue  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import paceline", ["asyncpg", "pydantic", "cronsim", "psycopg", "asyncio"]),
        ("from paceline import Queue", ["cronsim", "psycopg", "paceline.handlers", "paceline.cron", "kopf"]),
        ("from paceline import Jobs", ["asyncpg", "cronsim", "psycopg"]),
    ],
)
def test_an_import_loads_no_more_than_it_needs(code: str, absent: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print([name for name in {absent!r} if name in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
