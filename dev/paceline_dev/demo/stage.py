"""Where the demo is played: groups, two operators, a database and a way to each of them, wherever they run."""

import abc
import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

from paceline.database import Database
from paceline.reading import Reader
from paceline.seen import RunnerSeen
from paceline_dev.demo.account import Books
from paceline_dev.errors import DevError
from paceline_dev.group import runner_group
from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import Api
from paceline_dev.node.wire import Json
from paceline_dev.progress import Reporter

OURS: Final = "/apis/paceline.dev/v1alpha1/namespaces"
LOOK_SECONDS: Final = 0.05


@dataclass(slots=True)
class Stage(abc.ABC):
    """What the story is told with."""

    kubectl: Kubectl
    api: Api
    database: Database
    url: str
    """The database, as pods reach it."""
    books: Books

    namespace: ClassVar[str]
    image: ClassVar[str]
    """Of the runners."""
    patience: ClassVar[float]
    """Seconds that a step waits for what it has announced."""

    @property
    @abc.abstractmethod
    def look_around(self) -> str:
        """A command that shows what there is."""

    @abc.abstractmethod
    async def operators(self) -> Mapping[str, str]:
        """Each operator and what it does; the one that acts "acts"."""

    @abc.abstractmethod
    async def kill_operator(self, name: str) -> None:
        """Kill -9."""

    @abc.abstractmethod
    async def kill_runner(self, pod: str) -> None:
        """Kill -9 of the process in a pod."""

    @abc.abstractmethod
    def last_words(self) -> str:
        """What the operators said last."""

    def group(self, name: str, replicas: int, **spec: object) -> Json:
        """A RunnerGroup of the demo."""
        return runner_group(self.namespace, name, replicas, self.image, {"slots": 4, **spec})

    async def run(self, *words: str, stdin: str | None = None) -> str:
        """kubectl, without holding up the load."""
        return (await asyncio.to_thread(self.kubectl.run, *words, stdin=stdin)).stdout

    @asynccontextmanager
    async def watching(self, say: Callable[[str], None], *words: str) -> AsyncIterator[None]:
        """Kubectl with -w: what it writes is said, line by line, until the end of the block."""
        process = await asyncio.create_subprocess_exec(
            *self.kubectl.command(*words, "-w"), env=self.kubectl.environment, stdout=asyncio.subprocess.PIPE
        )
        stdout = process.stdout
        assert stdout is not None

        async def read() -> None:
            async for line in stdout:
                say(line.decode().rstrip())

        reading = asyncio.create_task(read())
        try:
            yield
        finally:
            process.terminate()
            await process.wait()
            await reading

    async def apply(self, manifest: Mapping[str, object]) -> None:
        """As a user would."""
        await self.run("apply", "-f", "-", stdin=json.dumps(manifest))

    async def crew(self, pool: str) -> list[RunnerSeen]:
        """Who is registered for a pool, by name."""
        found = await Reader(self.database).list_runners(pool)
        return sorted((each for each in found if each.state == "active"), key=lambda each: each.id)

    async def groups(self) -> list[Json]:
        """All RunnerGroups."""
        found: list[Json] = (await self.api.get(f"{OURS}/{self.namespace}/runnergroups"))["items"]
        return found

    async def runners(self, group: str) -> set[str]:
        """The Runner objects of a group."""
        found = (await self.api.get(f"{OURS}/{self.namespace}/runners"))["items"]
        return {each["metadata"]["name"] for each in found if each["spec"]["groupRef"]["name"] == group}

    async def settled(self, group: str, size: int) -> None:
        """Wait until a group has so many runners, all of them ready, and no other."""

        async def is_so() -> bool:
            status = (await self.api.get(f"{OURS}/{self.namespace}/runnergroups/{group}")).get("status") or {}
            conditions = {each["type"]: each["reason"] for each in status.get("conditions", ())}
            ready = status.get("readyReplicas") == size and conditions.get("Ready") == "AsWanted"
            return ready and len(await self.runners(group)) == size and len(await self.crew(group)) == size

        await self.until(is_so, f"{size} runners of {group} are ready")

    async def acting(self) -> str:
        """The operator that acts."""
        found: list[str] = []

        async def one() -> bool:
            found[:] = [name for name, does in (await self.operators()).items() if does == "acts"]
            return len(found) == 1

        await self.until(one, "one of the operators acts")
        return found[0]

    async def until(self, true: Callable[[], Awaitable[object]], what: str, pause: float = LOOK_SECONDS) -> None:
        """Look again and again; a step that never comes is the end of the demo."""
        end = time.monotonic() + self.patience
        while not await true():
            if time.monotonic() > end:
                said = (await asyncio.to_thread(self.last_words)) or "none"
                raise DevError(
                    f"it never came to this: {what} ({self.patience:.0f} s); the operators' last words: {said}"
                )
            await asyncio.sleep(pause)


OpenStage = Callable[[], AbstractAsyncContextManager[Stage]]


@dataclass(frozen=True, slots=True)
class Setting:
    """A place for a stage."""

    prepare: Callable[[Reporter], AbstractContextManager[OpenStage]]
    """What takes long and needs no event loop."""
    afterwards: str
    """What is left when it is over, in a sentence."""
