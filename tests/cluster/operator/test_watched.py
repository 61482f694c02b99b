"""A real operator with real pods, watched by a real Prometheus: what alerts and dashboard ask for is told by it too."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from cluster.operator.gateways import Gateways, start_dialler
from cluster.operator.rolling import QUICK, changed
from cluster.operator.site import Site
from paceline.job import NewJob
from paceline.tokens import Tokens
from support.scraping import Prometheus, Target, scraping
from support.watching import fetched, questions

pytestmark = pytest.mark.timeout(400)  # the first run may have to fetch Prometheus

UNSEEN = {
    "paceline_claims_failed_total": "a run must reach a runner that vanishes in that moment",
    'paceline_group_condition{type="Progressing", reason="RolloutStalled"}': "a job must hold up an update for minutes",
    'paceline_group_condition{type="Progressing", reason=~"RolledBack|RolloutStopped"}': "told by the story of updates",
}
"""What a plain load does not show, and why."""


@pytest.fixture(scope="session")
def prometheus() -> Path:
    """The folder with the real programs."""
    return fetched()


async def _busy_pod(site: Site) -> str:
    """A pod of builds that has a job which does not end."""
    await site.queue.enqueue("wait", "go")
    await site.until(lambda: site.marked("begun"), "the job has begun")
    return str(next(each.hostname for each in await site.registrations() if each.held))


async def _eventful(site: Site) -> None:
    """Groups of every sort: one has lost a runner, had an update and has a job that nobody can do; one cannot start."""
    group = site.group(2, updateStrategy=QUICK)
    await site.apply(group)
    await site.says("Ready", "AsWanted")
    site.node.oom_kill(site.namespace, await _busy_pod(site))

    async def is_counted() -> bool:
        return 'paceline_jobs_interrupted_total{cause="OOMKilled"} 1.0' in (await site.get("/metrics"))[1]

    await site.until(is_counted, "the loss is counted")
    site.touch("go")  # not before: it could end well before it is killed
    await site.says("Ready", "AsWanted")
    await site.apply(changed(group, VERSION="2"))
    await site.apply(site.group(1, name="led", pool="led", dispatch="Leader"))
    await site.queue.enqueue("nobody-does-this")
    broken = site.group(1, name="broken", pool="broken")
    broken["spec"]["template"]["spec"]["containers"][0]["name"] = "main"
    await site.apply(broken)
    await site.says("LeaderElected", "Elected", "led")
    await site.says("Progressing", "TemplateInvalid", "broken")

    async def has_rolled() -> bool:
        return 'what="done"' in (await site.get("/metrics"))[1]

    await site.until(has_rolled, "the update is over", 120)
    await site.says("Ready", "AsWanted")


@contextlib.asynccontextmanager
async def _forgotten(url: str) -> AsyncIterator[None]:
    """A transaction that somebody has begun and does not end."""
    session = await asyncpg.connect(url)
    try:
        await session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await session.execute("SELECT count(*) FROM paceline.job")
        yield
    finally:
        session.terminate()


@contextlib.asynccontextmanager
async def _load(site: Site, gateway: Gateways) -> AsyncIterator[None]:
    """Jobs that end well and jobs that die, in pods and on a laptop that dials, until the block ends."""
    tokens = Tokens(site.queue.database)
    start_dialler(site, gateway.url, await tokens.create("rk", pool="desk", runner="laptop"))
    caller = {"authorization": f"Bearer {await tokens.create('pk', pool='desk')}"}

    async def go_on() -> None:
        async with httpx.AsyncClient(base_url=gateway.url, headers=caller, timeout=60) as client:
            while True:
                await site.queue.enqueue_many([NewJob(kind="count")] * 5 + [NewJob(kind="never")])
                await client.post("/v1/jobs", json={"kind": "count"})
                await client.post("/v1/call", json={"kind": "count"})
                await asyncio.sleep(0.1)

    working = asyncio.create_task(go_on())
    try:
        yield
    finally:
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def _targets(site: Site, gateway: Gateways) -> list[Target]:
    """What our monitors would find."""
    home = {"namespace": "paceline-system"}
    pods = [each for each in await site.pods() if not each["metadata"].get("deletionTimestamp")]
    return [
        Target("paceline-operator", f"127.0.0.1:{site.port}", home),
        Target("paceline-gateway", gateway.url.removeprefix("http://"), home),
        *(
            Target(
                "paceline-system/paceline-runners",
                f"{each['status']['podIP']}:8080",
                {
                    "namespace": site.namespace,
                    "group": each["metadata"]["labels"]["paceline.dev/group"],
                    "pod": each["metadata"]["name"],
                },
            )
            for each in pods
        ),
    ]


async def _comes_to(site: Site, watching: Prometheus, query: str) -> None:
    async def is_so() -> bool:
        return bool(await watching.ask(query))

    await site.until(is_so, query, 90)


async def test_a_real_operator_and_its_pods_answer_every_question(
    operated: Site, gateway: Gateways, prometheus: Path, tmp_path: Path
) -> None:
    site = operated
    asked = {each for each in questions() if not any(name in each for name in UNSEEN)}
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(_forgotten(site.url))
        await _eventful(site)
        await stack.enter_async_context(_load(site, gateway))
        (folder := tmp_path / "prometheus").mkdir()
        targets = await _targets(site, gateway)
        watching = await stack.enter_async_context(scraping(prometheus, folder, targets))
        missing: list[str] = []

        async def are_answered() -> bool:
            missing[:] = await watching.unanswered(asked)
            return not missing

        with contextlib.suppress(AssertionError):
            await site.until(are_answered, "every question is answered", 120)
        assert missing == []
        await _comes_to(site, watching, "max(paceline_jobs_unclaimable) == 1")
        await _comes_to(site, watching, "max(paceline_vacuum_held_seconds) > 10")
        await _comes_to(site, watching, 'ALERTS{alertname="PacelineDeadLetters", alertstate="firing"}')
        firing = {each["metric"]["alertname"] for each in await watching.ask('ALERTS{alertstate="firing"}')}
        assert firing == {"PacelineDeadLetters"}, "all else is well"
