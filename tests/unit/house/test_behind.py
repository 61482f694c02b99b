"""Which tests run behind PgBouncer: some always, all but a few with PACELINE_TEST_FULL=1."""

from pathlib import Path

import pytest

from support.behind import ALWAYS, HERE, NEVER, runs


@pytest.mark.parametrize(
    ("place", "quick", "everything"),
    [
        ("postgres/sdk/test_line.py", True, True),
        ("postgres/queue/test_promise_08_drain.py", True, True),
        ("postgres/queue/test_limits.py", False, True),
        ("postgres/reading/test_lists.py", False, True),
        ("postgres/plans/test_plans.py", False, False),
    ],
)
def test_a_quick_run_takes_what_a_pooler_could_spoil(place: str, quick: bool, everything: bool) -> None:
    assert runs(place, everything=False) is quick
    assert runs(place, everything=True) is everything


@pytest.mark.parametrize("start", [*ALWAYS, *NEVER])
def test_every_place_that_is_named_is_there(start: str) -> None:
    assert list(Path(HERE).glob(f"{start}*"))
