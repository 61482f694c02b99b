"""kopf begins when our kinds are there, and again when they were gone; what it sees is told where the loops turn."""

import asyncio
import contextlib
import getpass
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from paceline.testing.scratch import free_ports
from paceline_operator.adapters.access import Kubeconfig
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.queue import Key
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.loops import Loops
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.server import Server
from paceline_operator.handlers.watch import registry_for
from paceline_operator.handlers.watching import Serves, Watching
from paceline_operator.ports.errors import UnreachableError
from paceline_operator.ports.resources import ResourceKind
from support.kinds import BOTH, Kinds, kinds


class Told(Loops):
    """Keeps which groups were seen, and by which thread it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Key, threading.Thread]] = []

    def group_seen(self, key: Key) -> None:
        self.seen.append((key, threading.current_thread()))


class Watched:
    """A watch that runs."""

    def __init__(self, watch: Watching, told: Told, running: "asyncio.Task[None]") -> None:
        self.watch, self.told, self.running = watch, told, running

    async def until(self, true: Callable[[], object]) -> None:
        """Wait for something, or for the end of the watch, which is raised."""
        while not true():
            await asyncio.wait({self.running}, timeout=0.02)
            if self.running.done():
                await self.running
                raise AssertionError("it has ended")


@pytest.fixture
async def server() -> AsyncIterator[Kinds]:
    async with kinds() as made:
        yield made


@contextlib.asynccontextmanager
async def watching(server: Kinds, folder: Path, serves: Serves | None = None) -> AsyncIterator[Watched]:
    """Until the end of the block; then it stops as it is told to."""
    access, stop, told = Kubeconfig(str(server.kubeconfig(folder))), asyncio.Event(), Told()
    async with KubernetesCluster(access) as cluster:
        registry = registry_for(access, told, {}, watch_nodes=True)
        watch = Watching(registry, (), "here", serves or (lambda kind: cluster.serves(kind, None)))
        running = asyncio.create_task(watch.run(stop))
        try:
            yield Watched(watch, told, running)
        finally:
            stop.set()
            await asyncio.wait({running})
            assert not watch.on.is_set()


async def test_it_begins_when_the_kinds_are_there_and_says_meanwhile_which_are_not(
    server: Kinds, tmp_path: Path
) -> None:
    await server.serve("runners")
    async with watching(server, tmp_path) as seen:
        await seen.until(lambda: server.refused >= 3)
        assert seen.watch.trouble == "the API server does not serve runnergroups.paceline.dev: apply the CRDs"
        assert (server.looks, seen.watch.on.is_set()) == (0, False)
        await server.serve(*BOTH)
        await seen.until(seen.watch.on.is_set)
        assert seen.watch.trouble == ""
        await seen.until(lambda: server.watched >= BOTH)


async def test_a_kind_that_it_did_not_find_is_looked_for_again(server: Kinds, tmp_path: Path) -> None:
    """The API server serves a kind before it says so."""
    server.said = [frozenset({"runners"}), frozenset()]
    async with watching(server, tmp_path) as seen:
        await seen.until(seen.watch.on.is_set)
        assert server.looks == 3
        await seen.until(lambda: server.watched >= BOTH)


async def test_kinds_that_go_and_come_back_are_watched_again(server: Kinds, tmp_path: Path) -> None:
    async with watching(server, tmp_path) as seen:
        for _ in range(2):
            await seen.until(lambda: seen.watch.on.is_set() and server.watched >= BOTH)
            await server.serve()
            await seen.until(lambda: "runnergroups.paceline.dev and runners.paceline.dev" in seen.watch.trouble)
            assert not seen.watch.on.is_set()
            seen.told.seen.clear()
            await server.serve(*BOTH)
        await seen.until(lambda: seen.told.seen and seen.watch.on.is_set())


async def test_what_else_ends_it_is_raised(server: Kinds, tmp_path: Path) -> None:
    server.refuses = "pods"
    async with watching(server, tmp_path) as seen:
        await asyncio.wait({seen.running}, timeout=60)
        assert getattr(seen.running.exception(), "status", None) == 405


async def test_an_api_server_that_is_away_is_waited_for(server: Kinds, tmp_path: Path) -> None:
    answers = iter([UnreachableError("nobody answers")])

    async def serves(_: ResourceKind) -> bool:
        for error in answers:
            raise error
        return True

    async with watching(server, tmp_path, serves) as seen:
        await seen.until(lambda: seen.watch.trouble == "nobody answers")
        await seen.until(seen.watch.on.is_set)


async def test_what_is_seen_is_told_where_the_loops_turn(server: Kinds, tmp_path: Path) -> None:
    async with watching(server, tmp_path) as seen:
        await seen.until(lambda: seen.told.seen)
    assert seen.told.seen[0] == (("ci", "builds"), threading.main_thread())


async def test_a_user_without_a_name_can_run_it(server: Kinds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose user is a number that no passwd file knows."""

    def nameless() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr(getpass, "getuser", nameless)
    monkeypatch.delenv("POD_ID", raising=False)
    async with watching(server, tmp_path) as seen:
        await seen.until(seen.watch.on.is_set)


async def test_readiness_says_why_nothing_is_watched() -> None:
    troubles = iter(["there is no kind", ""])
    demands = Demands(Loops().demand, lambda: True, lambda: "")
    server = Server(list, lambda: next(troubles), Metrics(), demands)
    (port,) = free_ports(1)
    await server.start("127.0.0.1", port)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            answers = []
            for _ in range(2):
                async with session.get("/readyz") as answer:
                    answers.append((answer.status, await answer.text()))
    finally:
        await server.close()
    assert answers == [(503, "nothing is watched: there is no kind\n"), (200, "ok\n")]
