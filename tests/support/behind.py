"""A pytest plugin: which of the tests in tests/postgres run behind PgBouncer in transaction mode.

`make test` takes those that a pooler could spoil (ALWAYS), PACELINE_TEST_FULL=1 all but those that cannot work there.
"""

import os
from pathlib import Path

import pytest

from support.bounced import is_bounced

HERE = Path(__file__).parents[1]
ALWAYS = (
    "postgres/sdk", "postgres/gateway/test_answers", "postgres/queue/test_promise_0", "postgres/queue/test_logins",
    "postgres/test_migrate",
)  # fmt: skip
"""What a pooler could spoil: connections, transactions that wait for each other, logins, and the advisory lock."""
NEVER = ("postgres/plans", "postgres/test_server")
"""What is not about our connections: plans are made by the server, and the second is about the server itself."""


def full() -> bool:
    """Whether everything is to be run everywhere."""
    return os.environ.get("PACELINE_TEST_FULL", "") not in ("", "0")


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the mark."""
    config.addinivalue_line("markers", "needs_session(reason): does not run behind PgBouncer in transaction mode")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not run behind PgBouncer, or not this time."""
    left_out = [item for item in items if is_bounced(item) and not _runs(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _runs(item: pytest.Item) -> bool:
    return not item.get_closest_marker("needs_session") and runs(str(item.path.relative_to(HERE)), everything=full())


def runs(place: str, *, everything: bool) -> bool:
    """Whether the tests of a file run behind PgBouncer, in a run of everything or in a quick one."""
    return not place.startswith(NEVER) and (everything or place.startswith(ALWAYS))
