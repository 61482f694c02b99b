"""What people do to groups all day: updates, taints, hand-overs. Each is seen to have had its effect."""

import asyncio
import functools
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from paceline_bench.site import GROUPS, RUNNERS, until
from paceline_bench.soak.stage import LED, LED_RUNNERS, PATIENCE, ROLLED, Stage
from paceline_dev.node.api import MERGE
from paceline_dev.node.wire import Json

PAUSE: Final = 20.0
TAINTS: Final = "paceline.dev/taints"
VERSION: Final = "bench/version"


@dataclass
class Deeds:
    """One after the other, again and again."""

    stage: Stage
    done: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Until it is cancelled."""
        for number in itertools.count(1):
            for deed in (functools.partial(self._roll, number), self._taint, self._hand_over):
                await deed()
                await asyncio.sleep(PAUSE)

    async def _roll(self, number: int) -> None:
        """Every runner of a group gets another revision."""
        version = str(number)
        change = {"spec": {"template": {"metadata": {"annotations": {VERSION: version}}}}}
        await self.stage.site.api.patch(f"{GROUPS}/{ROLLED}", change, MERGE)

        async def over() -> bool:
            pods = [each for each in await self.stage.site.pods() if _group(each) == ROLLED]
            return len(pods) > 0 and all(_annotations(each).get(VERSION) == version for each in pods)

        await until(over, "all runners have the new revision", PATIENCE, pause=1.0)
        self.done["rolls"] += 1

    async def _taint(self) -> None:
        """One takes nothing for a while."""
        runner = next(each for each in await self._runners(ROLLED))
        name = runner["metadata"]["name"]
        await self._annotate(name, "noisy=neighbour:NoClaim")
        await self._until_tainted(name, wanted=True)
        await asyncio.sleep(PAUSE)
        await self._annotate(name, None)
        await self._until_tainted(name, wanted=False)
        self.done["taints"] += 1

    async def _hand_over(self) -> None:
        """The leader may lead no more, for a while: the other leads."""
        before = await self._leader()
        await self._annotate(before, "tired:NoLead")

        async def another() -> bool:
            return await self._leader() not in ("", before)

        await until(another, "another runner leads", PATIENCE, pause=0.5)
        await self._annotate(before, None)
        await self._until_tainted(before, wanted=False)
        self.done["hand_overs"] += 1

    async def ready(self) -> None:
        """Wait for a leader and those who could follow it."""

        async def so() -> bool:
            return len(await self._runners(LED)) == LED_RUNNERS and bool(await self._leader())

        await until(so, "a leader, and one that stands by", PATIENCE, pause=0.5)

    async def _leader(self) -> str:
        found = await self.stage.site.api.get(f"{GROUPS}/{LED}")
        return str(((found.get("status") or {}).get("leader") or {}).get("runner") or "")

    async def _runners(self, group: str) -> list[Json]:
        found: list[Json] = (await self.stage.site.api.get(RUNNERS, labelSelector=f"paceline.dev/group={group}"))[
            "items"
        ]
        return sorted(found, key=lambda each: str(each["metadata"]["creationTimestamp"]))

    async def _annotate(self, runner: str, taints: str | None) -> None:
        """What `kubectl annotate` does."""
        await self.stage.site.api.patch(f"{RUNNERS}/{runner}", {"metadata": {"annotations": {TAINTS: taints}}}, MERGE)

    async def _until_tainted(self, runner: str, *, wanted: bool) -> None:
        async def so() -> bool:
            found = await self.stage.database.value(TAINTED, runner)
            return bool(found) is wanted

        await until(so, f"the database knows of the taint: {wanted}", PATIENCE, pause=0.5)


TAINTED: Final = """
SELECT count(*) FROM paceline.runner_taint t JOIN paceline.runner r ON r.id = t.runner WHERE r.name = $1"""


def _group(found: Json) -> str:
    return str((found["metadata"].get("labels") or {}).get("paceline.dev/group"))


def _annotations(found: Json) -> Json:
    annotations: Json = found["metadata"].get("annotations") or {}
    return annotations
