"""Random sequences of every call of the queue, on three connections that overlap, against a simple model.

`make test` plays the same sequences each time. With PACELINE_TEST_FULL=1 they are new ones, and many more; the seed is
printed, and PACELINE_TEST_SEED plays them again.
"""

import asyncio
import os
import random
from contextlib import AsyncExitStack

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import run_state_machine_as_test

from paceline.testing import PostgresServer
from postgres.machine.machine import QueueMachine
from postgres.machine.stage import Stage

FULL = os.environ.get("PACELINE_TEST_FULL") == "1"
EXAMPLES = {"pg18": (80, 1500), "pg15": (10, 300)}
"""How many sequences: in `make test`, and in full. Eighty take about 30 s of one core."""
SHRINK_SECONDS = 30
"""After a failure. Hypothesis would take 300 s to make it a little shorter still."""


@pytest.mark.timeout(3600 if FULL else 400)
def test_every_call_keeps_the_promises_whoever_else_is_under_way(
    postgres: PostgresServer, template: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", SHRINK_SECONDS)
    server = request.node.callspec.params["postgres"]
    chosen = settings(
        max_examples=EXAMPLES.get(server, EXAMPLES["pg18"])[FULL],
        stateful_step_count=40,
        deadline=None,
        database=None,
        derandomize=not FULL,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    machine = QueueMachine
    if FULL:
        number = int(os.environ.get("PACELINE_TEST_SEED") or random.SystemRandom().randrange(10**6))
        print(f"PACELINE_TEST_SEED={number}")  # noqa: T201 -- shown when the test fails, and with -s
        machine = seed(number)(QueueMachine)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            QueueMachine.runner = runner
            QueueMachine.stage = runner.run(set_up(stack, postgres, template))
            run_state_machine_as_test(machine, settings=chosen)
        finally:
            runner.run(stack.aclose())


async def set_up(stack: AsyncExitStack, postgres: PostgresServer, template: str) -> Stage:
    stage = await Stage.open(await stack.enter_async_context(postgres.database(template)))
    stack.push_async_callback(stage.close)
    return stage
