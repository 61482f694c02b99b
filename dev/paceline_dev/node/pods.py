"""All pods of a node: who is bound to it, who lives, and what the faults do to them."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.node.faults import PodFault, annotation, parse_pod
from paceline_dev.node.fields import unknown_fields
from paceline_dev.node.phase import Phase
from paceline_dev.node.pod import PodLife
from paceline_dev.node.remove import refuse, remove
from paceline_dev.node.server import Answer
from paceline_dev.node.services import Services
from paceline_dev.node.wire import Json

LAST_SECONDS = 5.0
"""A node that leaves waits so long past the grace period, and then kills what is left."""


class Pods:
    """The pods bound to one node, as told by a watch."""

    def __init__(self, node: Services) -> None:
        """Begin with none."""
        self.lives: dict[str, PodLife] = {}
        self._node = node
        self._found: dict[str, Json] = {}
        self._faults: dict[str, str] = {}
        self._lost: set[str] = set()
        self._all_lost = False
        self._deaf = False
        self._missed: dict[str, Json] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def replaced(self, found: list[Json]) -> None:
        """These are all pods that there are."""
        left = set(self._found) - {each["metadata"]["uid"] for each in found}
        for uid in left:
            self.gone(self._found[uid])
        for each in found:
            self.changed(each)

    def changed(self, found: Json) -> None:
        """A pod is new, or not as it was."""
        uid = found["metadata"]["uid"]
        self._found[uid] = found
        self._look_for_fault(found)
        if self._deaf or self._all_lost or uid in self._lost:
            return
        life = self.lives.get(uid)
        if life and not life.over:
            life.update(found)
        elif life or _is_over(found):
            if found["metadata"].get("deletionTimestamp"):
                self._spawn(life.release() if life else remove(self._node.api, found))
        else:
            self._admit(found)

    def gone(self, found: Json) -> None:
        """A pod's object was deleted, perhaps by force: nothing of it may run any more."""
        uid = found["metadata"]["uid"]
        self._found.pop(uid, None)
        if self._deaf:
            self._missed[uid] = found
            return
        self._faults.pop(uid, None)
        self._lost.discard(uid)
        if life := self.lives.pop(uid, None):
            self._spawn(_bury(life))

    def _admit(self, found: Json) -> None:
        if fields := unknown_fields(found["spec"], lambda path: Path(path).is_dir()):
            name = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
            self._node.say(name, f"is refused: this node does not serve {', '.join(fields)}")
            self._spawn(refuse(self._node.api, found, fields))
            return
        life = self.lives[found["metadata"]["uid"]] = PodLife(self._node, found)
        self._node.say(str(life.spec), "is here")
        if found["metadata"].get("deletionTimestamp"):
            life.update(found)

    def _look_for_fault(self, found: Json) -> None:
        """Act on an annotation when it changes, not each time that the pod does."""
        uid, text = found["metadata"]["uid"], annotation(found)
        if text == self._faults.get(uid, ""):
            return
        self._faults[uid] = text
        try:
            fault = parse_pod(text)
        except DevError as error:
            self._node.say(f"{found['metadata']['namespace']}/{found['metadata']['name']}", str(error))
            return
        if uid in self._lost and fault.kind != "lose":
            self._lost.discard(uid)
        else:
            self.inflict(uid, fault)

    def inflict(self, uid: str, fault: PodFault) -> None:
        """Let something happen to a pod."""
        life = self.lives.get(uid)
        if fault.kind == "lose":
            self._lost.add(uid)
            if life:
                self._spawn(self._lose(uid, life))
        elif life and fault.kind == "evict":
            life.evict(fault.detail)
        elif life and fault.kind == "oom-kill":
            life.oom_kill(fault.detail)

    def find_again(self, uid: str) -> None:
        """A lost pod is seen again, as by a kubelet that has restarted."""
        self._lost.discard(uid)
        if found := self._found.get(uid):
            self.changed(found)

    async def _lose(self, uid: str, life: PodLife) -> None:
        await life.vanish()
        if self.lives.get(uid) is life:
            del self.lives[uid]
        found = self._found.get(uid)
        if found and uid not in self._lost:  # it was found again before it was quite dead
            self.changed(found)

    async def lose_all(self) -> None:
        """All processes die, and nobody says so; nothing new is started."""
        self._all_lost = True
        await asyncio.gather(*(self._lose(uid, life) for uid, life in list(self.lives.items())))

    def find_all(self) -> None:
        """See all pods again."""
        self._all_lost = False
        for found in list(self._found.values()):
            self.changed(found)

    def cut_off(self, deaf: bool) -> None:
        """Hear nothing of the API server while processes run on, as a kubelet that was stopped; or hear it again."""
        back, self._deaf = self._deaf and not deaf, deaf
        if back:
            missed, self._missed = self._missed, {}
            for found in missed.values():
                self.gone(found)
            for found in list(self._found.values()):
                self.changed(found)

    def named(self, namespace: str, name: str) -> PodLife | None:
        """The pod of that name, the youngest if two share it for a moment."""
        return next(
            (
                each
                for each in reversed(self.lives.values())
                if (each.spec.namespace, each.spec.name) == (namespace, name)
            ),
            None,
        )

    def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> Path | Answer:
        """Where the log of a container is, or the kubelet's words for why there is none."""
        life = self.named(namespace, pod)
        if life is None:
            return Answer(404, f'pod "{pod}" does not exist')
        found = next((each for each in life.containers if each.spec.name == container), None)
        if found is None:
            return Answer(404, f'container "{container}" not found in pod "{pod}"')
        if path := found.log(previous=previous):
            return path
        if previous:
            return Answer(400, f'previous terminated container "{container}" in pod "{pod}" not found')
        reason = getattr(found.view.state, "reason", "")
        return Answer(400, f'container "{container}" in pod "{pod}" is waiting to start: {reason}')

    def address(self, namespace: str, pod: str) -> str | None:
        """Where the ports of a pod are; None if it does not live here."""
        life = self.named(namespace, pod)
        return None if life is None else life.view().address

    def writes(self, namespace: str, pod: str, container: str, path: Path) -> bool:
        """Whether the container still writes into that log."""
        life = self.named(namespace, pod)
        found = next((each for each in life.containers if each.spec.name == container), None) if life else None
        return found is not None and found.runs and found.log() == path

    async def end(self, grace: float) -> None:
        """End all processes, and say nothing of it."""
        lives = list(self.lives.values())
        for life in lives:
            life.silence(grace)
        try:
            async with asyncio.timeout(grace + LAST_SECONDS):
                await asyncio.gather(*(life.finish() for life in lives))
        except TimeoutError:
            await asyncio.gather(*(life.vanish() for life in lives))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _bury(life: PodLife) -> None:
    await life.vanish()
    life.forget()


def _is_over(found: Json) -> bool:
    return (found.get("status") or {}).get("phase") in (Phase.SUCCEEDED, Phase.FAILED)
