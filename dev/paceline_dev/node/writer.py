"""Writes the status of one pod: only what has changed, and only once for what changes together."""

import asyncio
from collections.abc import Callable

from paceline_dev.node.api import TROUBLE, AnswerError
from paceline_dev.node.services import Services
from paceline_dev.node.spec import Pod
from paceline_dev.node.state import PodView
from paceline_dev.node.status import status_of
from paceline_dev.node.wire import Json, now

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


class StatusWriter:
    """The one who writes the status of a pod."""

    def __init__(self, node: Services, pod: Pod, before: Json, view: Callable[[], PodView]) -> None:
        """Write what `view` shows, over what the API server has."""
        self._node = node
        self._pod = pod
        self._before = before
        self._view = view
        self._written: Json = {}
        self._version = 0
        self._dirty = asyncio.Event()
        self._closing = False

    def saw(self, found: Json) -> None:
        """The object has changed: what somebody else wrote into our conditions is written over.

        The node controller does so with the pods of a node that it has not heard of.
        """
        if not self._written or int(found["metadata"]["resourceVersion"]) <= self._version:
            return
        seen = {each["type"]: each["status"] for each in found["status"].get("conditions") or ()}
        if any(seen.get(each["type"]) != each["status"] for each in self._written["conditions"]):
            self._before, self._written = found["status"], {}
            self.touch()

    def touch(self) -> None:
        """Something has changed."""
        self._dirty.set()

    async def run(self) -> None:
        """Write whenever something has changed, until cancelled or the pod is gone."""
        while True:
            await self._dirty.wait()
            if self._closing or not await self.write():
                return

    def close(self) -> None:
        """Let `run` end after the write at hand: the last one is for somebody who waits for it."""
        self._closing = True
        self._dirty.set()

    async def write(self) -> bool:
        """Write what there is now, however long it takes; whether the pod still exists."""
        pause = FIRST_PAUSE
        while True:
            await self._node.faults.drag()
            await self._node.faults.heard()
            self._dirty.clear()
            wanted = status_of(self._view(), self._before, now())
            if wanted == self._written:
                return True
            try:
                body = {"metadata": {"uid": self._pod.uid}, "status": wanted}
                answer = await self._node.api.patch(f"{path_of(self._pod)}/status", body)
            except AnswerError as error:
                if error.code in (404, 409):  # it is gone, or another has its name
                    return False
                self._node.say(str(self._pod), f"its status is refused: {error}")
            except TROUBLE:
                pass
            else:
                self._before, self._written = answer["status"], wanted
                self._version = int(answer["metadata"]["resourceVersion"])
                return True
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def path_of(pod: Pod) -> str:
    """Where the API server has it."""
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
