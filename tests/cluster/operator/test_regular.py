"""Regular turns: one question to the database for all groups, and nothing is done on the strength of its answer."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from cluster.operator.site import Site
from paceline.operating import Office, Operating
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.events import Events
from paceline_operator.adapters.queue import CREWS_EVERY, Queue
from paceline_operator.adapters.queues import Queues
from paceline_operator.handlers.loop import GroupLoop
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.scaler import Scaler
from paceline_operator.handlers.services import Services

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the database is asked, by the names of the calls; each is still made."""
    names: list[str] = []

    def watched(name: str) -> Callable[..., object]:
        real = getattr(Operating, name)

        def call(*args: object, **named: object) -> object:
            names.append(name)
            return real(*args, **named)

        return call

    for name in ("observe", "look_at_group", "look_at_groups"):
        monkeypatch.setattr(Operating, name, watched(name))
    return names


@pytest.fixture
async def services(site: Site, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Services]:
    """An operator's own, without the loops and without the look that is made every second."""
    monkeypatch.setattr("paceline_operator.adapters.queue.LOOK_SECONDS", 3600.0)
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(KubernetesCluster(Kubeconfig(str(site.kubeconfig))))
        queues = Queues(cluster, lambda: Office(site.namespace, "test"), lambda _: None)
        stack.push_async_callback(queues.close)
        yield Services(
            install=site.namespace, cluster=cluster, queues=queues, events=Events(cluster, "test"), metrics=Metrics()
        )


async def _queue(site: Site, services: Services) -> Queue:
    return await services.queues.of((site.namespace, "builds"), "db", Scaler())


async def _looks(queue: Queue, count: int) -> None:
    operating = await queue.ready()
    for _ in range(count):
        await queue._look(operating)


async def _until_all_are_asked(queue: Queue, asked: list[str]) -> None:
    asked.clear()
    while "look_at_groups" not in asked:
        await _looks(queue, 1)
    asked.clear()


async def _loop(site: Site, services: Services, asked: list[str], name: str = "builds") -> GroupLoop:
    """One that has turned, and for whom the database has been asked since."""
    await site.apply(site.group(0, name=name))
    loop = GroupLoop((site.namespace, name), services)
    for _ in range(3):  # the finalizer and the first status are written
        await loop._turn(regular=False)
        await _looks(await _queue(site, services), 1)
    loop.turned = time.monotonic()
    await _until_all_are_asked(await _queue(site, services), asked)
    return loop


async def test_a_database_is_asked_one_thing_at_a_time_whatever_the_number_of_groups(
    site: Site, services: Services, asked: list[str]
) -> None:
    await _loop(site, services, asked)
    await _loop(site, services, asked, "tests")
    await _looks(await _queue(site, services), 2 * CREWS_EVERY)
    assert len(asked) == 2 * CREWS_EVERY
    assert asked.count("look_at_groups") == 2


async def test_a_crew_is_only_for_who_has_not_looked_since(site: Site, services: Services, asked: list[str]) -> None:
    before = time.monotonic()
    loop = await _loop(site, services, asked)
    queue = await _queue(site, services)
    number = loop._membership.number
    assert number is not None
    assert queue.crew_of(number, before) == []
    assert queue.crew_of(number, time.monotonic()) is None
    assert queue.crew_of(number + 1, before) is None


async def test_a_group_that_is_gone_spoils_it_for_one_time_and_is_no_trouble(
    site: Site, services: Services, asked: list[str]
) -> None:
    before = time.monotonic()
    loop = await _loop(site, services, asked)
    number = loop._membership.number
    assert number is not None
    queue = await _queue(site, services)
    await _looks(queue, CREWS_EVERY - 1)
    await Operating(site.queue.database).delete_group(number)
    await _looks(queue, 1)
    assert asked[-1] == "look_at_groups"
    assert queue.crew_of(number, before) is None
    assert queue.trouble is None


async def test_a_regular_turn_with_nothing_to_do_asks_the_database_nothing(
    site: Site, services: Services, asked: list[str]
) -> None:
    loop = await _loop(site, services, asked)
    await loop._turn(regular=True)
    assert asked == []


async def test_a_turn_after_something_has_happened_asks(site: Site, services: Services, asked: list[str]) -> None:
    loop = await _loop(site, services, asked)
    await loop._turn(regular=False)
    assert asked == ["look_at_group"]


async def test_before_anything_is_done_it_is_looked_at_again(site: Site, services: Services, asked: list[str]) -> None:
    loop = await _loop(site, services, asked)
    await site.run("scale", "rgrp", "builds", "--replicas=1")
    await loop._turn(regular=True)
    assert [each for each in asked if each != "observe"] == ["look_at_group"]
    assert len(await site.runners()) == 1


async def test_a_group_that_is_being_deleted_is_always_looked_at(
    site: Site, services: Services, asked: list[str]
) -> None:
    loop = await _loop(site, services, asked)
    await site.run("delete", "rgrp", "builds", "--wait=false")
    await loop._turn(regular=True)
    assert asked == ["look_at_group"]


async def test_a_loop_that_begins_or_is_woken_does_not_take_an_older_look(
    site: Site, services: Services, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = await _loop(site, services, asked)
    turns: list[bool] = []

    async def turn(*, regular: bool) -> float | None:
        turns.append(regular)
        if len(turns) == 2:
            loop.wake()
        return None if len(turns) == 3 else 0.0

    monkeypatch.setattr(loop, "_turn", turn)
    await loop.run()
    assert turns == [False, True, False]
