"""The life of one container: find its image and variables, start it, and start it again if its policy says so."""

import asyncio
import dataclasses
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from paceline_dev.node.backoff import Backoff, duration
from paceline_dev.node.deadline import Deadline
from paceline_dev.node.environment import ConfigError, Place, variables
from paceline_dev.node.expand import expand
from paceline_dev.node.images import PATH, Image, pull_error
from paceline_dev.node.instance import Health, Inside, Instance
from paceline_dev.node.logs import tail_message
from paceline_dev.node.process import Ended, Order, Process, ShimLostError, StartFailedError
from paceline_dev.node.services import Services
from paceline_dev.node.spec import Container, Pod
from paceline_dev.node.state import ContainerView, Running, Terminated
from paceline_dev.node.wire import EPOCH, moment_of, now

START_ERROR = 128
NOT_STARTED = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
    "unable to start container process: error during container init: "
)


class ContainerLife:
    """One container from its first start to its last end."""

    def __init__(
        self, node: Services, pod: Pod, view: ContainerView, place: Place, folder: Path, changed: Callable[[], None]
    ) -> None:
        """Begin where `view` is: a container of an earlier node may have ended already."""
        self.view = view
        self._node = node
        self._pod = pod
        self._place = place
        self._folder = folder
        self._changed = changed
        self._ran = isinstance(view.state, Terminated)
        self._restarts = Backoff(node.timing.backoff, node.timing.backoff_most)
        self._pulls = Backoff(node.timing.backoff, node.timing.backoff_most)
        self._instance: Instance | None = None
        self._stopping = False
        self._attempt = 0
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def spec(self) -> Container:
        """What the pod says of it."""
        return self.view.spec

    @property
    def runs(self) -> bool:
        """Whether it has a process."""
        return self._instance is not None

    @property
    def pid(self) -> int | None:
        """Its first process."""
        return self._instance.process.pid if self._instance else None

    def log(self, *, previous: bool = False) -> Path | None:
        """The file with its output, or with that of the run before."""
        path = self._folder / f"{self._attempt - previous}.log"
        return path if path.exists() else None

    def begin(self) -> None:
        """Start it in the background, unless it has ended for good."""
        if not self.view.done and not self._stopping:
            self._task = asyncio.create_task(self._live(), name=f"{self._pod}/{self.spec.name}")

    async def until(self, true: Callable[[ContainerView], bool]) -> None:
        """Wait until its view is so."""
        while not true(self.view):
            await self._news.wait()

    def _show(self, view: ContainerView) -> None:
        self.view = view
        self._news.set()
        self._news = asyncio.Event()
        self._changed()

    def _say(self, words: str) -> None:
        self._node.say(str(self._pod), f"container {self.spec.name} {words}")

    async def _live(self) -> None:
        while True:
            image = await self._find_image()
            env = await self._find_variables(image)
            await self._run_once(image, env)
            if self._stopping or self.view.done:
                return
            await self._back_off()

    async def _find_image(self) -> Image:
        """Wait until the table has it, in the kubelet's two turns: an error, then a back-off."""
        name = self.spec.image
        while (image := self._node.images.get(name)) is None:
            if self.spec.pull_never:
                words = f'Container image "{name}" is not present with pull policy of Never'
                self._show(self.view.waiting("ErrImageNeverPull", words))
                await self._node.images.learned(self._pulls.base)
                continue
            self._say(f"waits for the image {name}, which this node does not know")
            self._show(self.view.waiting("ErrImagePull", pull_error(name)))
            self._pulls.after(time.time())
            if not await self._node.images.learned(self._node.timing.retry):
                words = f'Back-off pulling image "{name}": ErrImagePull: {pull_error(name)}'
                self._show(self.view.waiting("ImagePullBackOff", words))
                await self._node.images.learned(self._pulls.current)
        return image

    async def _find_variables(self, image: Image) -> dict[str, str]:
        """Wait until everything exists that they refer to; nothing comes from the node's own environment."""
        while True:
            try:
                said = await variables(self._pod, self.spec, self._place, self._node.fetch)
            except ConfigError as error:
                self._show(self.view.waiting("CreateContainerConfigError", str(error)))
                await asyncio.sleep(self._node.timing.retry)
            else:
                home = str(self._folder)
                return {"PATH": PATH, "HOME": home, "TMPDIR": home, "HOSTNAME": self._pod.hostname, **image.env, **said}

    async def _run_once(self, image: Image, env: dict[str, str]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._attempt += 1
        container_id = f"local://{secrets.token_hex(32)}"
        restarts = self.view.restarts + (1 if self._ran else 0)
        self._ran = True
        argv = [expand(word, env) for word in image.argv(self.spec.command, self.spec.args)] or [""]
        cwd = Path(self.spec.working_dir or image.working_dir or self._folder)
        log = self._folder / f"{self._attempt}.log"
        try:
            process = await self._start(Order(argv, env, cwd, log))
        except (StartFailedError, OSError) as error:
            end = Terminated(START_ERROR, "StartError", f"{NOT_STARTED}{error}: unknown", EPOCH, now(), container_id)
            self._say(f"cannot start: {error}")
            self._show(dataclasses.replace(self.view, restarts=restarts).terminated(end))
            return
        inside = Inside(self._node, env, self._folder, self._place.address)
        self._instance = Instance(self._node, self._pod, self.spec, process, inside, self._show_health)
        self._say(f"started, process {process.pid}")
        self._show(self.view.running(moment_of(process.started.result()), container_id, restarts))
        try:
            ended = await self._instance.ended()
            end = self._end(ended, oom=self._instance.oom, container_id=container_id, log=log)
        finally:
            self._instance = None
        self._say(f"ended with {end.code} ({end.reason})")
        self._show(self.view.terminated(end))

    async def _start(self, order: Order) -> Process:
        """Start it; who is cancelled meanwhile leaves nothing behind, and a start that got lost is made again."""
        while True:
            process = self._node.cradle.spawn(order)
            try:
                await asyncio.shield(process.started)
            except ShimLostError:
                await asyncio.sleep(self._node.timing.retry)
            except asyncio.CancelledError:
                process.kill()
                raise
            else:
                return process

    def _show_health(self, health: Health) -> None:
        if isinstance(self.view.state, Running):
            self._show(dataclasses.replace(self.view, started=health.started, ready=health.ready))

    def _end(self, ended: Ended, *, oom: bool, container_id: str, log: Path) -> Terminated:
        code = 128 - ended.code if ended.code < 0 else ended.code
        reason = "OOMKilled" if oom else "Completed" if code == 0 else "Error"
        words = tail_message(log) if self.spec.log_is_message and code != 0 else ""
        started = self.view.state.since if isinstance(self.view.state, Running) else None
        return Terminated(code, reason, words, started, moment_of(ended.at), container_id)

    async def _back_off(self) -> None:
        """The first restart is at once; each one after it waits twice as long."""
        if wait := self._restarts.after(time.time()):
            words = f"back-off {duration(wait)} restarting failed container={self.spec.name} pod={self._pod.full_name}"
            self._show(self.view.waiting("CrashLoopBackOff", words))
            await asyncio.sleep(wait)

    async def stop(self, deadline: Deadline, turn: "asyncio.Future[None] | None" = None) -> None:
        """End it for good, politely; what has not started never does."""
        self._stopping = True
        if self._instance:
            await self._instance.end(deadline, turn)
        await self._finish()

    async def kill(self) -> None:
        """End it for good and at once."""
        self._stopping = True
        if self._instance:
            self._instance.kill()
        await self._finish()

    async def _finish(self) -> None:
        if self._task and not self._task.done():
            if not self._instance:
                self._task.cancel()
            await asyncio.wait({self._task})

    def oom_kill(self) -> bool:
        """Kill it as the kernel does when memory is short; whether there was something to kill."""
        if self._instance:
            self._instance.kill(oom=True)
        return self._instance is not None
