"""Real processes under faults, and the whole history of it held against the promises of the queue.

`PACELINE_HISTORY_SEED` replays a plan, `PACELINE_HISTORY_JOBS` makes it longer or shorter. The plan of jobs and faults
is the same for the same seed and size; how the processes take turns is not.
"""

import dataclasses
import json
import os
import secrets
import sys
from pathlib import Path

import pytest

from history.checks.every import violations
from history.checks.handlers import overlaps
from history.checks.violation import explain
from history.events import History, JobEnded, RunnerChanged
from history.plan import make_plan
from history.run import run

FULL = os.environ.get("PACELINE_TEST_FULL") == "1"
JOBS = int(os.environ.get("PACELINE_HISTORY_JOBS", 50_000 if FULL else 2_000))
KEPT = Path(__file__).parents[2] / "build" / "history"


def _seed() -> int:
    return int(os.environ.get("PACELINE_HISTORY_SEED") or secrets.randbelow(10**6))


@pytest.mark.timeout(300 + JOBS // 20)
async def test_every_promise_holds_while_processes_lines_and_the_server_break(tmp_path: Path) -> None:
    seed = _seed()
    replay = f"PACELINE_HISTORY_SEED={seed} PACELINE_HISTORY_JOBS={JOBS} make test ARGS=tests/history"
    _say(f"history: {replay}")
    history = await run(make_plan(seed, JOBS), tmp_path)
    _say(_summary(history))
    if found := violations(history):
        pytest.fail(
            f"{explain(history, found)}\n\nthe history: {_keep(history, seed)}\nreplay: {replay}", pytrace=False
        )
    ended = {event.cause for event in history.events if isinstance(event, RunnerChanged) and event.new == "z"}
    assert "LeaseExpired" in ended, "the faults did not do what they are for"
    assert history.late, "no job was lost, so nobody came too late"


def _say(text: str) -> None:
    """To whoever watches, also where pytest keeps the output until a test fails."""
    print(text, file=sys.stderr)  # noqa: T201 -- see above


def _summary(history: History) -> str:
    ends = [event for event in history.events if isinstance(event, JobEnded)]
    lost = sum(event.losses for event in ends)
    zombies = len(list(overlaps(history)))
    return (
        f"history: {len(ends)} jobs ended, {sum(event.place == 'dead' for event in ends)} of them dead; {lost} losses; "
        f"{len(history.late)} late writes; {zombies} attempts that a stopped runner went on with; "
        f"{len(history.exits)} runners ended; {len(history.outages)} restarts"
    )


def _keep(history: History, seed: int) -> Path:
    """For whoever wants to look closer: one JSON object for each event, mark and late write."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"seed-{seed}.jsonl"
    with path.open("w") as file:
        for each in (*history.events, *history.marks, *history.late, *history.exits):
            file.write(json.dumps({"what": type(each).__name__, **dataclasses.asdict(each)}) + "\n")
    return path
