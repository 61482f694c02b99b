"""Operators that agree by a Lease on a real API server; the clock is ours, so nobody waits eight seconds."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from apiserver.operator.between import Between
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.handlers import elect
from paceline_operator.handlers.elect import Elector
from paceline_operator.ports.resources import LEASE

PATIENCE = 60.0


@dataclass
class Clock:
    """Goes on only when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Candidate:
    """An elector, and what came of it."""

    elector: Elector
    terms: list[str] = field(default_factory=list)

    async def begin(self) -> None:
        self.terms.append("begin")

    async def end(self) -> None:
        self.terms.append("end")


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elect, "RETRY", 0.02)


@asynccontextmanager
async def running(cluster: KubernetesCluster, namespace: str, name: str, clock: Clock) -> AsyncIterator[Candidate]:
    made = Candidate(Elector(cluster, namespace, "paceline-operator", name, clock=clock))
    task = asyncio.create_task(made.elector.run(made.begin, made.end))
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 -- what it looks at has no event
            await asyncio.sleep(0.01)


async def turns(cluster: KubernetesCluster, namespace: str, count: int = 3) -> None:
    """Wait until the Lease has been renewed some times."""
    seen: set[str] = set()
    async with asyncio.timeout(PATIENCE):
        while len(seen) <= count:
            found = await cluster.get(LEASE, namespace, "paceline-operator")
            seen.add(found["metadata"]["resourceVersion"] if found else "")


async def test_the_first_leads_and_the_second_waits(cluster: KubernetesCluster, namespace: str) -> None:
    clock = Clock()
    async with running(cluster, namespace, "a", clock) as first:
        await until(first.elector.leads)
        async with running(cluster, namespace, "b", clock) as second:
            await turns(cluster, namespace)
            clock.now += 4.9  # within the time of the last renewal
            assert first.elector.leads()
            assert second.terms == []
    lease = await cluster.get(LEASE, namespace, "paceline-operator")
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "a"


async def test_who_does_not_renew_in_time_may_not_act_and_another_takes_over(
    cluster: KubernetesCluster, namespace: str
) -> None:
    """As after kill -9 or SIGSTOP: the first one's loop does not turn, its clock goes on."""
    stopped, going = Clock(), Clock()
    first = Elector(cluster, namespace, "paceline-operator", "a", clock=stopped)
    assert await first._look() is None
    assert await first._write()
    async with running(cluster, namespace, "b", going) as second:
        await asyncio.sleep(0.2)
        going.now += 7.9
        await asyncio.sleep(0.2)
        assert second.terms == []
        stopped.now += 5.0
        assert not first.leads(), "three seconds before anybody else may"
        going.now += 0.2
        await until(second.elector.leads)
        assert not await first._write(), "what it wakes up with is refused"
        assert not await first._reclaim()
        assert not first.leads()


async def test_a_standby_knows_where_the_one_that_acts_listens_until_that_one_leaves(
    cluster: KubernetesCluster, namespace: str
) -> None:
    clock = Clock()
    first = Elector(cluster, namespace, "paceline-operator", "a", "10.1.2.3:8081", clock=clock)
    assert await first._look() is None
    assert await first._write()
    assert first.other() == "", "it is the one"
    second = Elector(cluster, namespace, "paceline-operator", "b", "10.4.5.6:8081", clock=clock)
    assert second.other() == ""
    second._lease = await second._look()
    assert second.other() == "10.1.2.3:8081"
    await first.release()
    second._lease = await second._look()
    assert second.other() == ""
    assert await second._write()
    first._lease = await first._look()
    assert first.other() == "10.4.5.6:8081"


async def test_a_released_lease_is_taken_at_once(cluster: KubernetesCluster, namespace: str) -> None:
    clock = Clock()
    first = Elector(cluster, namespace, "paceline-operator", "a", clock=clock)
    assert await first._look() is None
    assert await first._write()
    async with running(cluster, namespace, "b", clock) as second:
        await asyncio.sleep(0.2)
        assert second.terms == []
        await first.release()
        assert not first.leads()
        await until(second.elector.leads)


async def test_a_lease_that_is_deleted_is_made_again_by_its_holder(cluster: KubernetesCluster, namespace: str) -> None:
    clock = Clock()
    async with running(cluster, namespace, "a", clock) as first, running(cluster, namespace, "b", clock) as second:
        await until(lambda: first.elector.leads() or second.elector.leads())
        holder, other = (first, second) if first.elector.leads() else (second, first)
        await asyncio.sleep(0.1)
        found = await cluster.get(LEASE, namespace, "paceline-operator")
        assert found is not None
        assert await cluster.delete(LEASE, namespace, "paceline-operator", uid=found["metadata"]["uid"])

        async def is_back() -> bool:
            now = await cluster.get(LEASE, namespace, "paceline-operator")
            return now is not None and now["metadata"]["uid"] != found["metadata"]["uid"]

        async with asyncio.timeout(PATIENCE):
            while not await is_back():  # noqa: ASYNC110 -- only asking tells
                await asyncio.sleep(0.02)
        assert holder.elector.leads()
        assert (holder.terms, other.terms) == (["begin"], [])


async def test_a_lease_that_somebody_wrote_by_hand_is_obeyed_until_it_is_over(
    cluster: KubernetesCluster, namespace: str
) -> None:
    clock = Clock()
    async with running(cluster, namespace, "a", clock) as first:
        await until(first.elector.leads)
        spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 20, "renewTime": "2099-01-01T00:00:00.000000Z"}
        meta = {"name": "paceline-operator", "namespace": namespace}
        await cluster.apply({"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": meta, "spec": spec})
        await until(lambda: first.terms == ["begin", "end"])
        assert not first.elector.leads()
        clock.now += 19.0
        await asyncio.sleep(0.2)
        assert first.terms == ["begin", "end"]
        clock.now += 1.1
        await until(lambda: first.terms == ["begin", "end", "begin"])


async def test_a_holder_that_cannot_renew_ends_its_term_when_its_time_is_over(
    hasty: KubernetesCluster, middle: Between, namespace: str
) -> None:
    clock = Clock()
    async with running(hasty, namespace, "a", clock) as first:
        await until(first.elector.leads)
        middle.delay = 30.0
        clock.now += 4.0
        assert first.elector.leads()
        clock.now += 1.1
        assert not first.elector.leads()
        await until(lambda: first.terms == ["begin", "end"])
        middle.delay = 0.0
        await until(lambda: first.terms == ["begin", "end", "begin"])
