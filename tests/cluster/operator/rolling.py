"""What the stories of updates have in common: a change, and how far it has come."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from cluster.operator.watcher import Watcher
from cluster.place import Json

RUNNER = "paceline.dev/runner"
REVISION = "paceline.dev/revision"
QUICK = {"canary": {"runners": 1, "observeSeconds": 1}}


def changed(group: Json, **variables: str) -> Json:
    """The same group with other variables in its pods: another revision."""
    (container,) = group["spec"]["template"]["spec"]["containers"]
    kept = [each for each in container.get("env", []) if each["name"] not in variables]
    container["env"] = [*kept, *({"name": name, "value": value} for name, value in variables.items())]
    return group


async def revisions(site: Watcher) -> dict[str, str]:
    """The revision of every Runner that has a pod, by its newest one."""
    found: dict[str, tuple[int, str]] = {}
    for pod in await site.pods():
        labels = pod["metadata"]["labels"]
        boot = int(pod["metadata"]["name"].rpartition("-")[2])
        if boot > found.get(labels[RUNNER], (0, ""))[0] and not pod["metadata"].get("deletionTimestamp"):
            found[labels[RUNNER]] = boot, labels[REVISION]
    return {runner: revision for runner, (_, revision) in found.items()}


def has_rolled(site: Watcher, before: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        status = await site.status()
        return bool(status["currentRevision"] != before and status["currentRevision"] == status["updateRevision"])

    return is_so


async def rolled(site: Watcher, size: int, before: str) -> str:
    """Wait until all runners have another revision; which."""
    await site.until(has_rolled(site, before), "all have the new revision", 120)
    await site.settled(size)
    now: str = (await site.status())["currentRevision"]
    assert set((await revisions(site)).values()) == {now}
    return now


async def begun(site: Watcher, first: str) -> None:
    """Wait until somebody has another revision."""

    async def is_so() -> bool:
        return bool(set((await revisions(site)).values()) - {first})

    await site.until(is_so, "somebody has the new revision", 90)


@contextlib.asynccontextmanager
async def never_fewer(site: Watcher, least: int) -> AsyncIterator[None]:
    """At least so many runners may claim, whenever one looks."""
    seen: list[int] = []

    async def look() -> None:
        while True:
            found = await site.registrations()
            seen.append(sum(each.state == "active" and each.leased for each in found))
            await asyncio.sleep(0.1)

    looking = asyncio.create_task(look())
    try:
        yield
        assert not looking.done(), looking.exception()
        assert min(seen) >= least, f"once only {min(seen)} runners could claim"
    finally:
        looking.cancel()
