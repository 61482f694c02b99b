"""Applies one after the other by whoever leads, and a state that the past cannot write."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from cluster.operator.site import Site
from examples.cluster import apply, queue_of
from examples.conftest import OpenLaptop
from examples.laptop import commands_of
from paceline.job import NewJob
from runner.process import until

pytestmark = pytest.mark.timeout(300)


def config(after: str | None = None, *, workspace: str = "prod", **files: str) -> NewJob:
    wanted: JsonValue = {name: {"content": content, "after": after} for name, content in files.items()}
    return NewJob(kind="infra.apply", payload={"workspace": workspace, "files": wanted})


def state(folder: Path, workspace: str = "prod") -> Any:
    return json.loads((folder / "state" / f"{workspace}.json").read_text())


async def another_leads(site: Site, before: str) -> str:
    """Wait until somebody else does."""
    found = ""

    async def is_so() -> bool:
        nonlocal found
        found = ((await site.status("infra")).get("leader") or {}).get("runner") or ""
        return bool(found) and found != before

    await site.until(is_so, "another leads")
    return found


async def test_applies_run_one_at_a_time_and_the_standby_goes_on_where_the_leader_was_killed(operated: Site) -> None:
    site, queue, folder = operated, queue_of(operated, "infra"), operated.scratch
    await apply(site, "terraform", INFRA_STATE=str(folder / "state"), INFRA_TARGET=str(folder / "made"))
    await site.settled(2, "infra")
    leader = await another_leads(site, "")
    made = await queue.enqueue_many([config(workspace=f"w{number}", dns="a", web="b") for number in range(6)])
    assert set(await site.done_by(*made)) == {leader}
    spans = await queue.database.rows("SELECT claimed_at, finished_at FROM paceline.history ORDER BY claimed_at")
    assert all(first["finished_at"] <= second["claimed_at"] for first, second in pairwise(spans))

    waits = await queue.enqueue(config("network", dns="a"))
    await site.running(waits.id)
    await site.until(lambda: (folder / "state" / "prod.json").exists(), "it has taken the state")
    fence = state(folder)["fence"]
    pod = (await site.runner(leader))["status"]["podName"]
    await site.run("delete", "pod", pod, "--force", "--grace-period=0")

    async def has_taken_over() -> bool:
        return bool(state(folder)["fence"] > fence)

    await site.until(has_taken_over, "another has taken the state")
    (folder / "made" / "prod" / "network").touch()
    (second,) = await site.done_by(waits)
    assert second != leader
    assert state(folder)["files"] == {"dns": "a"}
    assert (await site.job(waits.id)).losses == 1


async def test_a_leader_that_is_drained_finishes_and_another_leads(operated: Site) -> None:
    site, queue, folder = operated, queue_of(operated, "infra"), operated.scratch
    await apply(site, "terraform", INFRA_STATE=str(folder / "state"), INFRA_TARGET=str(folder / "made"))
    await site.settled(2, "infra")
    leader = await another_leads(site, "")
    waits = await queue.enqueue(config("network", dns="a"))
    await site.running(waits.id)
    await site.until(lambda: (folder / "made" / "prod").exists(), "it has a place for what it makes")
    await site.run("annotate", "rnr", leader, "paceline.dev/drain=true")
    await another_leads(site, leader)
    (folder / "made" / "prod" / "network").touch()
    assert await site.done_by(waits) == [leader], "nobody interrupts it"
    assert await site.done_by(await queue.enqueue(config(web="b"))) != [leader]


async def test_what_there_is_becomes_what_there_shall_be_and_the_past_cannot_write(laptop: OpenLaptop) -> None:
    infra = laptop("terraform")
    infra.variables = {"INFRA_STATE": str(infra.scratch / "state"), "INFRA_TARGET": str(infra.scratch / "made")}
    queue = infra.queue("infra")
    await infra.develops()
    first, second = [words for words in commands_of(infra.folder) if words[:2] == ["paceline", "enqueue"]]
    assert '{"made": ["dns", "web"], "deleted": []}' in await infra.does(*first)
    assert '{"made": ["dns"], "deleted": ["web"]}' in await infra.does(*second)
    assert [(path.name, path.read_text()) for path in (infra.scratch / "made" / "prod").iterdir()] == [("dns", "c")]

    later = state(infra.scratch) | {"fence": 10**6}
    (infra.scratch / "state" / "prod.json").write_text(json.dumps(later))
    late = await until(queue, (await queue.enqueue(config(dns="d"))).id, "dead")
    assert "StaleError: prod.json was written with fence 1000000" in (late.error or "")
    assert (late.tries, state(infra.scratch)) == (1, later)
