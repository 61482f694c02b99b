"""One run of a container: its process, the probes and hooks beside it, and its end."""

import asyncio
import dataclasses
import signal
import time
from collections.abc import Callable
from pathlib import Path

from paceline_dev.node.actions import perform
from paceline_dev.node.deadline import Deadline
from paceline_dev.node.expand import expand
from paceline_dev.node.probes import verdicts
from paceline_dev.node.process import Ended, Order, Process
from paceline_dev.node.services import Services
from paceline_dev.node.spec import Action, Container, Exec, Pod, Probe


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """What the probes have found so far."""

    started: bool
    ready: bool


class Instance:
    """A started container until its end."""

    def __init__(
        self,
        node: Services,
        pod: Pod,
        spec: Container,
        process: Process,
        inside: "Inside",
        tell: Callable[[Health], None],
    ) -> None:
        """Take over a process that has started; `tell` hears when its health changes."""
        self.oom = False
        """Whether it was killed as if memory had been short."""
        self.process = process
        self._node = node
        self._pod = pod
        self._spec = spec
        self._inside = inside
        self._tell = tell
        self._health = Health(spec.startup is None, spec.startup is None and spec.readiness is None)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = False

    async def ended(self) -> Ended:
        """Wait for its end, with its probes beside it; nothing of it is left then."""
        if self._spec.startup:
            self._watch(self._spec.startup, self._heard_start)
        else:
            self._settled()
        try:
            return await asyncio.shield(self.process.ended)
        finally:
            self.process.kill()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _watch(self, probe: Probe, hear: Callable[[bool, str], bool]) -> None:
        action = probe.action
        if isinstance(action, Exec):  # a probe's command knows the values that are written in the pod, and no others
            words = {each["name"]: each.get("value", "") for each in self._spec.env}
            probe = dataclasses.replace(probe, action=Exec(tuple(expand(word, words) for word in action.command)))
        self._tasks.add(asyncio.create_task(verdicts(probe, self._perform, hear)))

    def _settled(self) -> None:
        """It has started up: only now the other probes count."""
        if self._spec.readiness:
            self._watch(self._spec.readiness, self._heard_ready)
        if self._spec.liveness:
            self._watch(self._spec.liveness, self._heard_life)

    def _heard_start(self, well: bool, words: str) -> bool:
        if well:
            self._show(Health(started=True, ready=self._spec.readiness is None))
            self._settled()
        else:
            self._unhealthy("startup", self._spec.startup, words)
        return True

    def _heard_ready(self, well: bool, words: str) -> bool:
        if well is not self._health.ready:
            self._say("is ready" if well else f"is not ready: {words}")
            self._show(dataclasses.replace(self._health, ready=well))
        return False

    def _heard_life(self, well: bool, words: str) -> bool:
        if not well:
            self._unhealthy("liveness", self._spec.liveness, words)
        return not well

    def _unhealthy(self, kind: str, probe: Probe | None, words: str) -> None:
        """Kill it; whether it is started again is for its policy. One that ends anyway is left alone."""
        if not self._ending:
            self._say(f"failed its {kind} probe and is killed: {words}")
            grace = probe.grace if probe and probe.grace is not None else self._pod.grace
            self._tasks.add(asyncio.create_task(self.end(Deadline(grace))))

    def _show(self, health: Health) -> None:
        self._health = health
        self._tell(health)

    def _say(self, words: str) -> None:
        self._node.say(str(self._pod), f"container {self._spec.name} {words}")

    async def _perform(self, action: Action) -> str:
        return await perform(action, self._inside.address, self._inside.run)

    async def end(self, deadline: Deadline, turn: "asyncio.Future[None] | None" = None) -> None:
        """Hook, then its turn, SIGTERM, and SIGKILL at the deadline.

        A hook that used up the grace period leaves SIGTERM two seconds all the same, as the kubelet does. Who comes
        second, as a delete after a failed probe, brings no second hook but its own deadline.
        """
        gone = self.process.ended
        if not self._ending:
            self._ending = True
            if self._spec.pre_stop and deadline.left > 0:
                await self._pre_stop(self._spec.pre_stop, deadline)
            if turn is not None:
                await deadline.cut(turn, gone)
            self.process.signal(signal.SIGTERM)
        if not await deadline.cut(gone, floor=time.monotonic() + self._node.timing.least_grace):
            self._say("does not end in its grace period and is killed")
            self.process.kill()
            await asyncio.wait({gone})

    async def _pre_stop(self, hook: Action, deadline: Deadline) -> None:
        """It may take all of the grace period, and ends with its container."""
        task = asyncio.create_task(self._perform(hook))
        await deadline.cut(task, self.process.ended)
        if not task.done():
            self._say("ends before its preStop hook" if self.process.ended.done() else "has a preStop hook that hangs")
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (words := task.result()):
            self._say(f"has a preStop hook that failed: {words}")

    def kill(self, *, oom: bool = False) -> None:
        """SIGKILL to all of it, as the kernel does when memory is short or a machine loses power."""
        self.oom = oom
        self.process.kill()


class Inside:
    """Commands run beside a container's own processes: by exec probes and hooks, which end with the container."""

    def __init__(self, node: Services, env: dict[str, str], folder: Path, address: str) -> None:
        """With the container's variables and folder."""
        self.address = address
        self._node = node
        self._env = env
        self._folder = folder

    async def run(self, command: tuple[str, ...]) -> Ended:
        """Run one to its end; cancelled, it is killed."""
        process = self._node.cradle.spawn(Order(command, self._env, self._folder, None))
        try:
            await asyncio.shield(process.started)
            return await asyncio.shield(process.ended)
        finally:
            process.kill()
