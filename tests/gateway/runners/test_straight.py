"""What runners ask for all the time goes past FastAPI, which would take longer than all that is done for a job."""

from typing import Any

import pytest
from fastapi import routing

from gateway.conftest import Client, Registered
from paceline.job import NewJob
from paceline.queue import Queue


async def test_a_poll_a_heartbeat_and_a_report_do_without_the_framework(
    runner: Client, register: Registered, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    solve = vars(routing)["solve_dependencies"]

    async def noted(**given: Any) -> Any:
        asked.append(given["request"].url.path)
        return await solve(**given)

    monkeypatch.setattr(routing, "solve_dependencies", noted)
    me = await register()
    await queue.enqueue(NewJob(kind="mail"))
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    beat = await runner.post("/runner/heartbeat", json={"incarnation": me, "runs": [[run["id"], run["fence"]]]})
    assert (beat.json()["verdict"], beat.json()["refused"]) == ("ok", [])
    done = await runner.post(f"/runner/runs/{run['id']}/complete", json={"incarnation": me, "fence": run["fence"]})
    assert (done.status_code, done.json()) == (200, {"accepted": True})
    assert not asked
    assert (await runner.get("/runner/runs", params={"incarnation": "me"})).status_code == 422
    assert asked == ["/runner/runs"]  # which says what is wrong
