"""Dashboard and alerts against a real Prometheus that scrapes real processes at work: every question is answered.

Runners, gateway and database are real. The operator's port is served as the operator does it, with what it would tell
of a small world; the queue's part of that is read from the database.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import pytest

from cluster.operator.gateways import OneGateway
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.reporter import Reporter
from paceline_operator.handlers.server import Server
from paceline_operator.handlers.services import Services
from runner.process import RunnerProcess, eventually, starting
from support.pg import logins
from support.scraping import Prometheus, Target, scraping, told_by
from support.watching import alerts, metrics_in, questions, variables
from unit.operator.world import World

pytestmark = pytest.mark.timeout(400)  # the first run may have to fetch Prometheus

UNSEEN = {"paceline_claims_failed_total": "a runner must vanish in the moment that a run is handed to it"}
"""Metrics that a load does not show, and why."""
BUILDS = ("ci", "builds")


async def operates(metrics: Metrics, queue: Queue) -> None:
    """What an operator would have counted, with the queue as it is."""
    reporter = Reporter(BUILDS, cast("Services", SimpleNamespace(metrics=metrics)))
    world = World(replicas=2)
    made = world.settle()
    (observed,) = await Operating(queue.database).observe("paceline")
    reporter._measure(made, observed, None, 0.0)
    reporter._show(world.status.conditions)
    metrics.show_conditions("ci", "led", {"LeaderElected": ("Elected", True)})
    metrics.show_conditions("ci", "slow", {"Progressing": ("RolloutStalled", False)})
    metrics.show_conditions("ci", "back", {"Progressing": ("RolledBack", False)})


def has_counted(metrics: Metrics) -> None:
    metrics.leads.set(1)
    metrics.turns.observe(0.1)
    metrics.requests.labels("get", "runnergroups", "200").inc()
    metrics.interrupted.labels("OOMKilled").inc()
    metrics.rollouts.labels(*BUILDS, "begun").inc()
    metrics.pods_failed.labels(*BUILDS).inc()


@contextlib.asynccontextmanager
async def operator(queue: Queue) -> AsyncIterator[str]:
    """The operator's port; it looks at the queue again and again."""
    await Operating(queue.database).put_group(install="paceline", namespace="ci", name="builds", pool="builds")
    metrics = Metrics()
    has_counted(metrics)
    demands = Demands(lambda *_: pytest.fail("nobody asks"), lambda: True, lambda: "")
    server = Server(list, str, metrics, demands)
    (port,) = free_ports(1)
    await server.start("127.0.0.1", port)

    async def look() -> None:
        while True:
            await operates(metrics, queue)
            await asyncio.sleep(1)

    async with going_on(look()):
        yield f"127.0.0.1:{port}"
    await server.close()


@contextlib.asynccontextmanager
async def going_on(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Something that is done until the block ends; its error is the block's."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def load(queue: Queue, gateway: str, scratch: Path) -> AsyncIterator[None]:
    """Jobs that end well and jobs that die, for runners here and for one that dials, until the block ends."""
    tokens = Tokens(queue.database)
    laptop = await RunnerProcess.start(
        "", scratch, "", PACELINE_GATEWAY=gateway, PACELINE_POOL="", PACELINE_STALE_THRESHOLD_SECS="",
        PACELINE_HEARTBEAT_INTERVAL_SECS="1",
        PACELINE_TOKEN=await tokens.create("rk", pool="desk", runner="laptop"),
    )  # fmt: skip
    caller = {"authorization": f"Bearer {await tokens.create('pk', pool='desk')}"}

    async def produce() -> None:
        async with httpx.AsyncClient(base_url=gateway, headers=caller, timeout=60) as client:
            while True:
                await queue.enqueue_many([NewJob(kind="count")] * 5 + [NewJob(kind="never")])
                for path in ("/v1/jobs", "/v1/call"):
                    (await client.post(path, json={"kind": "count"})).raise_for_status()
                await asyncio.sleep(0.1)

    try:
        await laptop.said("connected to the gateway")
        async with going_on(produce()):
            yield
    finally:
        await laptop.end()


@pytest.fixture
async def targets(queue: Queue, migrated: str, tmp_path: Path) -> AsyncIterator[list[Target]]:
    """What our monitors would find, at work."""
    async with contextlib.AsyncExitStack() as stack:
        login_url = await stack.enter_async_context(logins(queue.database, migrated))
        gateway = OneGateway(await login_url("gateway"), free_ports(1)[0], tmp_path)
        stack.push_async_callback(gateway.stop)
        await gateway.ready()
        start = await stack.enter_async_context(starting(migrated, tmp_path))
        runners = [await start(name) for name in ("r1", "r2")]
        at = await stack.enter_async_context(operator(queue))
        await stack.enter_async_context(load(queue, gateway.url, tmp_path))
        home = {"namespace": "paceline-system"}
        pods = {"namespace": "ci", "group": "builds"}
        yield [
            Target("paceline-operator", at, home),
            Target("paceline-gateway", gateway.url.removeprefix("http://"), home),
            *(Target("paceline-system/paceline-runners", f"127.0.0.1:{each.port}", pods) for each in runners),
        ]


@pytest.fixture
async def watching(prometheus: Path, targets: list[Target], tmp_path: Path) -> AsyncIterator[Prometheus]:
    (folder := tmp_path / "prometheus").mkdir()
    async with scraping(prometheus, folder, targets) as found:
        yield found


async def test_every_metric_that_is_asked_for_is_one_that_a_process_tells(targets: list[Target]) -> None:
    asked = {name for each in questions() for name in metrics_in(each)}
    assert len(asked) > 25
    assert asked - await told_by(targets) == set()
    assert set(UNSEEN) <= asked


async def test_every_question_is_answered_and_the_rules_can_be_computed(watching: Prometheus) -> None:
    asked = {each for each in questions() if not any(name in each for name in UNSEEN)}
    missing: list[str] = []

    async def are_answered() -> bool:
        missing[:] = await watching.unanswered(asked)
        return not missing

    with contextlib.suppress(AssertionError):
        await eventually(are_answered, "every question is answered", 120)
    assert missing == []
    for unseen in questions() - asked:
        await watching.ask(unseen)  # no answer, but no error either
    rules = await watching.alerts()
    assert set(rules) == set(alerts())
    assert {name: rule.get("lastError") for name, rule in rules.items() if rule["health"] != "ok"} == {}


async def test_what_can_be_chosen_is_what_there_is(watching: Prometheus) -> None:
    offered: dict[str, set[str]] = {}

    async def are_there() -> bool:
        offered.update({each.name: await watching.values(each.label, each.selector) for each in variables()})
        return all(offered.values())

    with contextlib.suppress(AssertionError):
        await eventually(are_there, "something can be chosen", 120)
    assert offered == {"namespace": {BUILDS[0]}, "group": {BUILDS[1]}}


async def test_letters_that_die_and_an_update_that_failed_are_told_and_nothing_else(watching: Prometheus) -> None:
    async def firing() -> set[str]:
        return {each["metric"]["alertname"] for each in await watching.ask('ALERTS{alertstate="firing"}')}

    wanted = {"PacelineDeadLetters", "PacelineRolledBack"}

    async def are_told() -> bool:
        return await firing() >= wanted

    await eventually(are_told, "dead letters and the update are told", 120)
    assert await firing() == wanted
