"""A node without containers: it registers with a real control plane and runs the pods bound to it as processes."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from paceline.testing.scratch import memory_folder
from paceline_dev.errors import DevError
from paceline_dev.node.addresses import Addresses
from paceline_dev.node.api import TROUBLE, AnswerError, Api
from paceline_dev.node.faults import Faults, NodeFault, PodFault, annotation, parse_node
from paceline_dev.node.fetch import Fetcher
from paceline_dev.node.follow import follow
from paceline_dev.node.images import Image, Images
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.node.pod import PodLife
from paceline_dev.node.pods import Pods
from paceline_dev.node.process import Cradle
from paceline_dev.node.register import Registration
from paceline_dev.node.remove import remove
from paceline_dev.node.server import KubeletServer
from paceline_dev.node.services import Services, Timing
from paceline_dev.node.wire import Json

T = TypeVar("T")
PORT = 10250
CLIENT_AUTHORITY = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
READY_SECONDS = 30.0
STOP_SECONDS = 10.0
"""How long a node that leaves tries to take its objects along: the control plane may be gone already."""
RENEW_SECONDS = 10.0


def _quiet(_: str, __: str) -> None:
    """Nobody listens."""


class LocalNode:
    """`async with LocalNode(...)`: registered and ready inside the block, and nothing of it is left after."""

    def __init__(
        self,
        kubeconfig: Path,
        spec: NodeSpec,
        *,
        images: Mapping[str, Image] | None = None,
        timing: Timing | None = None,
        port: int = PORT,
        renew: float = RENEW_SECONDS,
        stop_grace: float = 0.0,
        leave_objects: bool = False,
        say: Callable[[str, str], None] = _quiet,
    ) -> None:
        """Prepare one; `say` hears one line for each event of a pod, or of the node if the pod is empty."""
        self.spec = spec
        self.faults = Faults()
        self._kubeconfig = kubeconfig
        self._known = dict(images or {})
        self._timing = timing or Timing()
        self._port = port
        self._renew = renew
        self._stop_grace = stop_grace
        self._leave = leave_objects
        self._say = say
        self._annotated = ""
        self._last_trouble = ""
        self._stack = contextlib.AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        api = await self._stack.enter_async_context(await Api.connect(self._kubeconfig))
        folder = Path(tempfile.mkdtemp(prefix="paceline-node-", dir=memory_folder()))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        addresses = Addresses()
        self._stack.callback(addresses.close)
        cradle = Cradle(folder)
        self._stack.push_async_callback(cradle.close)
        self._images = Images(self._known)
        fetch = Fetcher(api)
        self._stack.push_async_callback(fetch.close)
        self._services = Services(
            name=self.spec.name, folder=folder, api=api, cradle=cradle, images=self._images, addresses=addresses,
            fetch=fetch, faults=self.faults, timing=self._timing, say=self._say,
        )  # fmt: skip
        self._pods = Pods(self._services)
        server = KubeletServer(self._pods, addresses.node, folder, await self._client_authority(api))
        self._stack.push_async_callback(server.stop)
        self.port = await server.start(self._port)
        self._entry = Registration(api, self.spec, addresses.node, self.port, self.faults, self._renew, self._trouble)
        found = await _patiently(self._entry.register, "register")
        self._say("", f"registered at {addresses.node}:{self.port}")
        self._stack.push_async_callback(self._stop)
        self.changed(found)
        self._tasks = [asyncio.create_task(each) for each in self._loops()]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """None of the loops ends by itself: a node that has gone blind must not look like one with nothing to do."""
        if not task.cancelled() and (error := task.exception()):
            self._say("", f"does not work any more, which is a bug: {error!r}")

    def _loops(self) -> tuple[Coroutine[None, None, None], ...]:
        api, name = self._services.api, self.spec.name
        return (
            self._entry.keep(),
            self._heed_faults(),
            follow(api, "/api/v1/pods", f"spec.nodeName={name}", self._pods, self._trouble),
            follow(api, "/api/v1/nodes", f"metadata.name={name}", self, self._trouble),
        )

    def _trouble(self, words: str) -> None:
        """Say it once, not with each new try."""
        if words != self._last_trouble:
            self._last_trouble = words
            self._say("", words)

    async def _client_authority(self, api: Api) -> str:
        """Whose certificates the API server's clients have: published by the API server itself."""

        async def read() -> str:
            found = await api.get(CLIENT_AUTHORITY)
            return str(found["data"]["client-ca-file"])

        return await _patiently(read, "learn whom to trust")

    async def _stop(self) -> None:
        """End all processes; then, unless they are to stay, take the objects away."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._pods.end(self._stop_grace)
        if not self._leave:
            lives = list(self._pods.lives.values())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await asyncio.gather(*(remove(self._services.api, life.found) for life in lives))
                    await self._entry.leave()

    # the Node object has changed

    def replaced(self, found: list[Json]) -> None:
        """It exists, or it does not."""
        if found:
            self.changed(found[0])
        else:
            self._entry.look(None)

    def changed(self, found: Json) -> None:
        """Its annotation is a switch for faults."""
        text = annotation(found)
        if text != self._annotated:
            self._annotated = text
            try:
                self.faults.set(parse_node(text))
            except DevError as error:
                self._say("", str(error))
            else:
                self._say("", f"faults: {text or 'none'}")
        self._entry.look(found)

    def gone(self, _: Json) -> None:
        """Somebody deleted it: it is registered again."""
        self._entry.look(None)

    async def _heed_faults(self) -> None:
        lost = False
        while True:
            await self.faults.changed.wait()
            self.faults.changed.clear()
            wanted = self.faults.now
            if wanted.lose_pods and not lost:
                await self._pods.lose_all()
            elif lost and not wanted.lose_pods:
                self._pods.find_all()
            lost = wanted.lose_pods
            self._pods.cut_off(wanted.not_ready)
            if not wanted.not_ready:
                self._entry.hurry()

    # for tests

    @property
    def name(self) -> str:
        """The Node's name."""
        return self.spec.name

    @property
    def address(self) -> str:
        """The node's own address."""
        return self._services.addresses.node

    def add_image(self, name: str, image: Image) -> None:
        """Teach it a name; pods that wait for it start."""
        self._images.add(name, image)

    def pids(self, namespace: str, pod: str) -> list[int]:
        """The first processes of a pod's containers."""
        life = self._pods.named(namespace, pod)
        return [pid for each in (life.containers if life else ()) if (pid := each.pid)]

    def break_down(self, fault: NodeFault) -> None:
        """Have exactly these faults; `NodeFault()` mends all."""
        self.faults.set(fault)

    def go_not_ready(self) -> None:
        """Stop renewing the Lease and the heartbeat, as a kubelet that is cut off; processes run on."""
        self.faults.set(replace(self.faults.now, not_ready=True))

    def go_ready(self) -> None:
        """Renew them again, and catch up with what was missed."""
        self.faults.set(replace(self.faults.now, not_ready=False))

    def lose_pods(self) -> None:
        """All processes die at once, and nobody says so."""
        self.faults.set(replace(self.faults.now, lose_pods=True))

    def restore_pods(self) -> None:
        """Report the lost pods as a kubelet that has restarted, and go on."""
        self.faults.set(replace(self.faults.now, lose_pods=False))

    def be_slow(self, seconds: float) -> None:
        """Take so long for each start of a pod and each status; 0 is quick again."""
        self.faults.set(replace(self.faults.now, slow=seconds))

    def oom_kill(self, namespace: str, pod: str, container: str = "") -> None:
        """Kill a container as the kernel does when memory is short."""
        self._inflict(namespace, pod, PodFault("oom-kill", container))

    def evict(self, namespace: str, pod: str, message: str = "") -> None:
        """Evict a pod as the kubelet does when the node is short of something."""
        self._inflict(namespace, pod, PodFault("evict", message))

    def lose(self, namespace: str, pod: str) -> Callable[[], None]:
        """Let one pod's processes die unseen; call the answer to see it again."""
        uid = self._inflict(namespace, pod, PodFault("lose")).spec.uid
        return lambda: self._pods.find_again(uid)

    def _inflict(self, namespace: str, pod: str, fault: PodFault) -> PodLife:
        life = self._pods.named(namespace, pod)
        if life is None:
            raise DevError(f"no pod {namespace}/{pod} runs on {self.name}")
        self._pods.inflict(life.spec.uid, fault)
        return life


async def _patiently(call: Callable[[], Awaitable[T]], what: str) -> T:
    """Try until the API server has answered; one that is just starting is waited for."""
    last: Exception | None = None
    try:
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    return await call()
                except (AnswerError, *TROUBLE) as error:
                    last = error
                    await asyncio.sleep(0.2)
    except TimeoutError:
        raise DevError(f"the API server did not let the node {what} in {READY_SECONDS:.0f} s: {last}") from None
