"""Who has ended a program: we, a job, or itself."""

from pathlib import Path

import pytest

from chaos.seats import Ended, Seat


@pytest.mark.parametrize(
    ("mortal", "code", "end"),
    [
        (True, -9, Ended(name="it", code=-9, killed=True)),
        (True, 3, Ended(name="it", code=3, killed=False, words="boom")),
        (False, -9, Ended(name="it", code=-9, killed=False, words="boom")),
        (False, 0, Ended(name="it", code=0, killed=False)),
    ],
)
def test_a_runner_may_be_killed_by_a_job_and_nobody_else_may(
    tmp_path: Path, mortal: bool, code: int, end: Ended
) -> None:
    log = tmp_path / "log"
    log.write_text("boom")
    assert Seat("it", [], {}, log, mortal).end(code) == end
