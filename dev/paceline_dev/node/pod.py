"""The life of one pod: its containers in order, the end in reverse, and one status for all."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paceline_dev.node.adopt import adopted_views
from paceline_dev.node.container import ContainerLife
from paceline_dev.node.deadline import Deadline
from paceline_dev.node.environment import Place
from paceline_dev.node.remove import remove
from paceline_dev.node.services import Services
from paceline_dev.node.spec import parse_pod
from paceline_dev.node.state import ContainerView, PodView, Verdict
from paceline_dev.node.status import status_of
from paceline_dev.node.wire import Json, moment, now
from paceline_dev.node.writer import StatusWriter

EVICTION_SECONDS = 1
"""The grace period of an eviction by the kubelet when a hard limit is passed."""
TOO_LONG = Verdict("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class PodLife:
    """One pod on this node, from its binding to its last status."""

    def __init__(self, node: Services, found: Json) -> None:
        """Take over a pod whose fields are all served; containers of an earlier node are found lost."""
        self.spec = parse_pod(found)
        self.found = found
        self.over = False
        """Its last status is written, and nothing of it runs."""
        self._node = node
        self._deadline: Deadline | None = None
        self._ordered = asyncio.Event()
        self._verdict: Verdict | None = None
        self._lost = False
        self._terminal = False
        self._released = False
        self._place = Place(node.addresses.take(), node.addresses.node)
        self._folder: Path = node.folder / f"{self.spec.namespace}_{self.spec.name}_{self.spec.uid}"
        status = found.get("status") or {}
        self._started = moment(status["startTime"]) if status.get("startTime") else now()
        init, main = adopted_views(self.spec, status)
        self._init = [self._life(view) for view in init]
        self._main = [self._life(view) for view in main]
        self._writer = StatusWriter(node, self.spec, status, self.view)
        self._writing = asyncio.create_task(self._writer.run(), name=f"status of {self.spec}")
        self._task = asyncio.create_task(self._live(), name=str(self.spec))
        self._writer.touch()

    def _life(self, view: ContainerView) -> ContainerLife:
        folder = self._folder / view.spec.name
        return ContainerLife(self._node, self.spec, view, self._place, folder, self._changed)

    @property
    def containers(self) -> Sequence[ContainerLife]:
        """All of them, in the order of starting."""
        return (*self._init, *self._main)

    def view(self) -> PodView:
        """What is known of it now."""
        return PodView(
            spec=self.spec,
            init=tuple(each.view for each in self._init),
            main=tuple(each.view for each in self._main),
            address=self._place.address,
            host=self._place.host,
            started=self._started,
            terminal=self._terminal,
            verdict=self._verdict,
        )

    def _changed(self) -> None:
        if not self._lost:
            self._writer.touch()

    async def _live(self) -> None:
        work = asyncio.create_task(self._work())
        order = asyncio.create_task(self._ordered.wait())
        await asyncio.wait({work, order}, timeout=self._seconds_left(), return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and not order.done():
            self.end(self.spec.grace, TOO_LONG)
        for task in (work, order):
            task.cancel()
        trouble, _ = await asyncio.gather(work, order, return_exceptions=True)
        if isinstance(trouble, Exception):
            self._node.say(str(self.spec), f"is ended, which is a bug: {trouble!r}")
        await self._stop()
        self._terminal = True
        self._node.addresses.give_back(self._place.address)
        if not self._lost:
            await self._report()

    def _seconds_left(self) -> float | None:
        if self.spec.deadline is None:
            return None
        return max(self.spec.deadline - (now() - self._started).total_seconds(), 0.0)

    async def _work(self) -> None:
        """Start everything in order, and wait until the main containers have ended for good."""
        await self._node.faults.drag()
        for life in self._init:
            life.begin()
            if life.spec.sidecar:
                await life.until(lambda view: view.started)
            else:
                await life.until(lambda view: view.done)
                if not life.view.succeeded:
                    return
        for life in self._main:
            life.begin()
        for life in self._main:
            await life.until(lambda view: view.done)

    async def _stop(self) -> None:
        """Main containers together, then the sidecars one by one, the last first. Hooks begin at once."""
        deadline = self._deadline = self._deadline or Deadline(self.spec.grace)
        before = [asyncio.create_task(each.stop(deadline)) for each in (*self._main, *self._steps())]
        for sidecar in reversed([each for each in self._init if each.spec.sidecar]):
            turn = asyncio.ensure_future(_all(list(before)))
            before.append(asyncio.create_task(sidecar.stop(deadline, turn)))
        await _all(before)

    def _steps(self) -> list[ContainerLife]:
        return [each for each in self._init if not each.spec.sidecar]

    async def _report(self) -> None:
        """Write the last status, and delete the object if that is what it waits for."""
        self._writer.close()
        await asyncio.wait({self._writing})
        if self._lost:
            return
        exists = await self._writer.write()
        self.over = True
        phase = status_of(self.view(), {}, now())["phase"]
        self._node.say(str(self.spec), f"is over: {self._verdict.reason if self._verdict else phase}")
        if exists and self.found["metadata"].get("deletionTimestamp"):
            await self.release()

    async def release(self) -> None:
        """Delete the object of a pod that is over; asked twice, it is done once."""
        if not self._released:
            self._released = True
            await remove(self._node.api, self.found)

    def update(self, found: Json) -> None:
        """The object has changed: only its deletion matters to processes that run."""
        changed = found["spec"]["containers"] != self.found["spec"]["containers"]
        self.found = found
        self._writer.saw(found)
        if changed:
            self._node.say(str(self.spec), "was changed in place, which this node does not do: delete it instead")
        else:
            self.spec = replace(self.spec, generation=found["metadata"].get("generation", 0))
        # the first order counts: a kubelet that has begun to stop a container does not hurry for a second delete
        if found["metadata"].get("deletionTimestamp") and not self._ordered.is_set():
            self._node.say(str(self.spec), "is being deleted")
            self.end(found["metadata"].get("deletionGracePeriodSeconds", self.spec.grace))

    def end(self, grace: float, verdict: Verdict | None = None) -> None:
        """End it within that time; the node's own second order can only shorten it."""
        self._verdict = self._verdict or verdict
        if self._deadline:
            self._deadline.shorten(grace)
        else:
            self._deadline = Deadline(grace)
        self._ordered.set()

    def evict(self, message: str) -> None:
        """As the kubelet does when the node is short of something."""
        words = message or "The node was low on resource: memory. "
        self.end(EVICTION_SECONDS, Verdict("Evicted", words, disruption=True))

    async def vanish(self) -> None:
        """Kill everything at once and say nothing: the object is gone, or the machine without power."""
        self._lost = True
        self._writing.cancel()
        await _all([asyncio.create_task(each.kill()) for each in self.containers])
        self._ordered.set()
        await asyncio.wait({self._task})

    def silence(self, grace: float) -> None:
        """End it politely, and say nothing: the node is leaving."""
        self._lost = True
        self._writing.cancel()
        self.end(grace)

    async def finish(self) -> None:
        """Wait until its life is over."""
        await asyncio.wait({self._task})

    def forget(self) -> None:
        """Remove its logs: nobody can ask for them any more."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def oom_kill(self, container: str = "") -> bool:
        """Kill one container as if memory were short: the named one, or the first main one that runs."""
        for life in self._main if not container else self.containers:
            if container in ("", life.spec.name) and life.oom_kill():
                return True
        return False


async def _all(tasks: "list[asyncio.Task[None]]") -> None:
    if tasks:
        await asyncio.wait(tasks)
