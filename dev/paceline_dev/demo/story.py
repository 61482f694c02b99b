"""The story, step by step. Each step announces itself, does one thing to the pool, and waits for what must follow."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from paceline.admin import database_now
from paceline.seen import RunnerSeen
from paceline_dev.demo.account import Books
from paceline_dev.demo.load import Load
from paceline_dev.demo.stage import Stage

SHOP: Final = "shop"
"""The group whose runners all work."""
ORDERS: Final = "orders"
"""The group with a leader."""
BURSTS: Final = "bursts"
"""The group that is empty until there is work."""
MOST: Final = 3
SCALING: Final = {"maxReplicas": MOST, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
SIZE: Final = 3
TAINTS: Final = "paceline.dev/taints"
QUIET_SECONDS: Final = 2.0
"""So long a tainted runner is watched."""
LONG_SECONDS: Final = 1.5
BURST_JOBS: Final = 40
QUICKLY: Final = 0.005


class Teller(Protocol):
    """Who tells the story."""

    def begin(self, title: str) -> None:
        """A step begins."""

    def say(self, text: str) -> None:
        """What is done, and what came of it."""

    def end(self, seconds: float) -> None:
        """The step is over."""


@dataclass(slots=True)
class Story:
    """What has happened so far."""

    stage: Stage
    load: Load
    teller: Teller
    times: list[tuple[str, float]] = field(default_factory=list)
    steps: list[tuple[str, float]] = field(default_factory=list)
    killed: int | None = None
    """The registration of the runner that was killed."""
    against_taint: int = 0

    @property
    def books(self) -> Books:
        """What the database knows."""
        return self.stage.books

    async def play(self) -> None:
        """All steps, one after the other."""
        for title, step in STEPS.items():
            self.teller.begin(title)
            began = time.monotonic()
            await step(self)
            seconds = time.monotonic() - began
            self.teller.end(seconds)
            self.steps.append((f"step: {title}", seconds))

    async def user(self, *words: str) -> str:
        """A command that a user would type, and its answer."""
        self.teller.say(f"$ kubectl {' '.join(words)}")
        return await self.stage.run(*words)

    def measured(self, name: str, began: float) -> None:
        """Write a time down."""
        seconds = time.monotonic() - began
        self.times.append((name, seconds))
        self.teller.say(f"{name}: {seconds:.2f} s")

    async def member(self, pool: str, runner: str) -> RunnerSeen | None:
        """How a Runner is registered, if it is."""
        return next((each for each in await self.stage.crew(pool) if each.id == runner), None)

    async def has(self, pool: str, runner: str, taint: str | None) -> bool:
        """Whether the database has a Runner with that taint, or with none."""
        found = await self.member(pool, runner)
        return found is not None and found.taints == ((taint,) if taint else ())

    async def now(self) -> datetime:
        """By the database's clock."""
        return await database_now(self.stage.database)

    async def claims_again(self, runner: str, since: datetime) -> None:
        """Wait until a Runner gets work."""

        async def is_so() -> bool:
            return await self.books.claims(runner, since) > 0

        await self.stage.until(is_so, f"{runner} gets jobs")


async def apply(story: Story) -> None:
    """A Secret and two groups; every pod is a real runner."""
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "db"}, "stringData": {"url": story.stage.url}}
    await story.stage.apply(secret)
    story.teller.say("$ kubectl apply -f shop.yaml -f orders.yaml")
    began = time.monotonic()
    for manifest in (story.stage.group(SHOP, SIZE), story.stage.group(ORDERS, 2, dispatch="Leader")):
        await story.stage.apply(manifest)
    await asyncio.gather(story.stage.settled(SHOP, SIZE), story.stage.settled(ORDERS, 2))
    story.measured("applied to five runners ready", began)


async def flow(story: Story) -> None:
    """The load has begun: jobs are done by both groups."""
    crew = [*await story.stage.crew(SHOP), *(each for each in await story.stage.crew(ORDERS) if each.leader)]
    since = await story.now()
    await asyncio.gather(*(story.claims_again(each.id, since) for each in crew))
    told = await story.user("get", "rgrp")
    for line in told.splitlines():
        story.teller.say(line)


async def taint(story: Story) -> None:
    """A runner gets no more jobs from the moment at which its taint is in the database, and some again afterwards."""
    runner = (await story.stage.crew(SHOP))[0].id
    began = time.monotonic()
    await story.user("annotate", "rnr", runner, f"{TAINTS}=demo:NoClaim")
    await story.stage.until(lambda: story.has(SHOP, runner, "demo:NoClaim"), f"{runner} is tainted", QUICKLY)
    story.measured("annotation to taint in force", began)
    since = await story.now()
    await asyncio.sleep(QUIET_SECONDS)
    story.against_taint += (claimed := await story.books.claims(runner, since))
    story.teller.say(f"{runner} has claimed {claimed} jobs in {QUIET_SECONDS:.0f} s")
    since = await story.now()
    await story.user("annotate", "rnr", runner, f"{TAINTS}-")
    await story.claims_again(runner, since)
    story.teller.say(f"{runner} gets jobs again")


async def hand_over(story: Story) -> None:
    """The leader may lead no more: another one does, and they never both claim."""
    crew = await story.stage.crew(ORDERS)
    (old,) = [each.id for each in crew if each.leader]
    (new,) = [each.id for each in crew if each.id != old]
    asked, began = await story.now(), time.monotonic()
    await story.user("annotate", "rnr", old, f"{TAINTS}=demo:NoLead")

    async def leads() -> bool:
        found = await story.member(ORDERS, new)
        return found is not None and found.leader

    await story.stage.until(leads, f"{new} leads {ORDERS}", QUICKLY)
    since = await story.now()
    await story.claims_again(new, asked)
    story.measured("leader hand-over, to the new one's first job", began)
    story.against_taint += await story.books.claims(old, since)
    await story.user("annotate", "rnr", old, f"{TAINTS}-")
    await story.stage.until(lambda: story.has(ORDERS, old, None), f"{old} has no taint")


async def restart(story: Story) -> None:
    """Every pod of a group is deleted in its turn. It finishes its jobs; its successor has the same Runner's name."""
    began = time.monotonic()
    for before in await story.stage.crew(SHOP):
        await story.user("delete", "pod", before.hostname, "--wait=false")

        async def back(before: RunnerSeen = before) -> bool:
            found = await story.member(SHOP, before.id)
            return found is not None and found.incarnation != before.incarnation

        await story.stage.until(back, f"{before.id} is back in a new pod")
    await story.stage.settled(SHOP, SIZE)
    story.measured(f"{SIZE} pods restarted under load", began)


async def kill_runner(story: Story) -> None:
    """A runner's process is killed with jobs in its hands: they are claimable at once, and done by others."""
    await story.load.add(SIZE * 4, LONG_SECONDS)
    victims: list[RunnerSeen] = []

    async def busy() -> bool:
        victims[:] = [each for each in await story.stage.crew(SHOP) if each.instances_claimed >= 3]
        return bool(victims)

    await story.stage.until(busy, "a runner holds three jobs", QUICKLY)
    victim = victims[0]
    story.killed = victim.incarnation
    began = time.monotonic()
    await story.stage.kill_runner(victim.hostname)
    story.teller.say(f"$ kill -9 the process of pod {victim.hostname}, which holds {victim.instances_claimed} jobs")

    async def free() -> bool:
        return await story.books.held(victim.incarnation) == 0

    await story.stage.until(free, "its jobs are claimable", QUICKLY)
    story.measured("kill -9 of a runner to its jobs claimable", began)

    async def done() -> bool:
        return await story.books.undone() == 0

    await story.stage.until(done, "its jobs are done by others")
    await story.stage.settled(SHOP, SIZE)


async def kill_operator(story: Story) -> None:
    """The operator that acts is killed; a size that is wanted right after it is the other one's to bring about."""
    acting = await story.stage.acting()
    began = time.monotonic()
    await story.stage.kill_operator(acting)
    story.teller.say("$ kill -9 the operator that acts")
    await story.user("scale", "rgrp", SHOP, f"--replicas={SIZE + 1}")

    async def acted() -> bool:
        return len(await story.stage.runners(SHOP)) == SIZE + 1

    await story.stage.until(acted, "the other operator acts")
    story.measured("kill -9 of the operator to the other one acting", began)
    await story.stage.settled(SHOP, SIZE + 1)


async def scale_down(story: Story) -> None:
    """Only runners without a job go."""
    began = time.monotonic()
    await story.user("scale", "rgrp", SHOP, "--replicas=1")
    await story.stage.settled(SHOP, 1)
    story.measured(f"scaled down from {SIZE + 1} to 1 under load", began)


async def burst(story: Story) -> None:
    """A group at zero is woken by its first job, grows with the queue, and is empty again when it is done."""
    await story.stage.apply(story.stage.group(BURSTS, 0, autoscaling=SCALING))
    await story.stage.settled(BURSTS, 0)
    story.teller.say(f"$ kubectl get rgrp {BURSTS} -w")
    async with story.stage.watching(story.teller.say, "get", "rgrp", BURSTS):
        began = time.monotonic()
        await story.load.add(BURST_JOBS, LONG_SECONDS, pool=BURSTS)

        async def started() -> bool:
            return len(await story.stage.runners(BURSTS)) > 0

        await story.stage.until(started, "it has a runner", QUICKLY)
        story.measured("jobs for a group at zero to its first runner made", began)
        await story.stage.settled(BURSTS, MOST)
        story.measured(f"zero to {MOST} runners ready", began)
        await story.stage.settled(BURSTS, 0)
        story.measured(f"zero to {MOST} to zero, {BURST_JOBS} jobs done", began)


STEPS: Final[Mapping[str, Callable[[Story], Awaitable[None]]]] = {
    "apply two groups": apply,
    "jobs flow": flow,
    "taint a runner and untaint it": taint,
    "hand the lead over": hand_over,
    "restart a group's pods, one by one": restart,
    "kill a runner": kill_runner,
    "kill the operator": kill_operator,
    "scale down": scale_down,
    "a burst, from zero to zero": burst,
}
