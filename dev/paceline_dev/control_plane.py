"""A real Kubernetes control plane on this machine: etcd, API server, controller manager and scheduler.

No kubelet and no containers: what is proved here are the API's own semantics (schemas, CEL, RBAC, conflicts,
server-side apply, scheduling). Everything listens on loopback only and ends with the process that started it.
"""

import contextlib
import os
import shutil
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports, last_words, memory_folder
from paceline_dev.audit import AuditLog
from paceline_dev.binaries import Binaries
from paceline_dev.components import Ports, commands, make_secrets
from paceline_dev.errors import DevError
from paceline_dev.kubectl import Kubectl

READY_SECONDS = 60.0
PORT_TRIES = 3
POLL_SECONDS = 0.02
NODE_KUBECONFIG = "node.kubeconfig"
"""The way in for local nodes, under a name of their own: the audit log tells their writes from a person's."""


class ControlPlane:
    """A started control plane; leave its `with` block and nothing of it is left."""

    def __init__(
        self,
        binaries: Binaries,
        folder: Path,
        ports: Ports,
        node_grace: int | None = None,
        scale_every: float | None = None,
    ) -> None:
        """Prepare one in an empty folder; `start` brings it up."""
        self.folder = folder
        self.url = f"https://127.0.0.1:{ports.api}"
        self.audit = AuditLog(folder / "audit.log")
        self.kubectl = Kubectl(binaries.kubectl, folder / "kubeconfig")
        self._ports = ports
        self._secrets = make_secrets(folder)
        self._recipes = commands(binaries, folder, ports, self._secrets, node_grace, scale_every)
        self._processes: dict[str, Guarded] = {}
        self.kubeconfig.write_text(self._secrets.kubeconfig(self.url, self._secrets.admin))
        (folder / NODE_KUBECONFIG).write_text(self._secrets.kubeconfig(self.url, self._secrets.node))

    @property
    def kubeconfig(self) -> Path:
        """The administrator's way in."""
        return self.kubectl.kubeconfig

    @classmethod
    def start(
        cls,
        binaries: Binaries,
        *,
        folder: Path | None = None,
        port: int | None = None,
        owner: int | None = None,
        node_grace: int | None = None,
        scale_every: float | None = None,
    ) -> Self:
        """Bring all four programs up, and return when each says that it is ready (2-4 s).

        `folder` is emptied first; without it a temporary one is used and removed at the end. `owner` is the
        process whose end ends the control plane, this one if not given. `node_grace` are the seconds after which a
        silent node is called lost, Kubernetes' own 50 if not given; `scale_every` those between two looks of a
        HorizontalPodAutoscaler, its own 15 if not given.
        """
        if port is not None:
            _refuse_taken(port)
        for _ in range(PORT_TRIES):
            place = folder or Path(tempfile.mkdtemp(prefix="paceline-k8s-", dir=memory_folder()))
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True, mode=0o700)
            etcd, peer, api, manager, scheduler = free_ports(5)
            plane = cls(binaries, place, Ports(etcd, peer, port or api, manager, scheduler), node_grace, scale_every)
            try:
                plane._bring_up(owner)
            except _PortTaken:
                plane.stop()
            except BaseException:
                plane.stop(keep_logs=True)
                raise
            else:
                return plane
        raise DevError(f"{PORT_TRIES} times in a row others took the ports of the control plane: try again")

    def _bring_up(self, owner: int | None) -> None:
        """Start in two waves: the controllers give up when the API server has no RBAC roles for them yet."""
        for wave in (("etcd", "kube-apiserver"), ("kube-controller-manager", "kube-scheduler")):
            for name in wave:
                self._processes[name] = Guarded(
                    self._recipes[name],
                    log=self.folder / f"{name}.log",
                    owner=owner,
                    env=_environment(),
                    grace=1.0,
                    scratch=self.folder,
                )
            for name in wave:
                self._wait_for(name)

    @property
    def pids(self) -> Mapping[str, int]:
        """The process id of each program, by its name."""
        return {name: process.pid for name, process in self._processes.items()}

    def stop(self, *, keep_logs: bool = False) -> None:
        """End all programs, clients before servers, and remove the folder (or all but the logs)."""
        for name in reversed(self._processes):
            self._processes[name].stop()
        for path in self.folder.glob("*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
        if not keep_logs:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def _wait_for(self, name: str) -> None:
        port, path = {
            "etcd": (self._ports.etcd, "health"),
            "kube-apiserver": (self._ports.api, "readyz"),
            "kube-controller-manager": (self._ports.manager, "healthz"),
            "kube-scheduler": (self._ports.scheduler, "healthz"),
        }[name]
        context = ssl.create_default_context(cafile=self._secrets.authority)
        context.load_cert_chain(self._secrets.admin.certificate, self._secrets.admin.key)
        process, deadline = self._processes[name], time.monotonic() + READY_SECONDS
        while not (_listens(process.pid, port) and _answers(f"https://127.0.0.1:{port}/{path}", context)):
            log = process.log.read_text(errors="replace")
            if not process.alive() and "address already in use" in log:
                raise _PortTaken
            if not process.alive():
                raise DevError(f"{name} ended while starting: {last_words(log)} (log: {process.log})")
            if time.monotonic() > deadline:
                raise DevError(f"{name} was not ready after {READY_SECONDS:.0f} s (log: {process.log})")
            time.sleep(POLL_SECONDS)


class _PortTaken(Exception):  # noqa: N818 -- a turn in the flow, not an error that anybody sees
    """Somebody took one of the ports between our look and the program's bind."""


def _environment() -> dict[str, str]:
    """No proxy and no cluster of the user's may leak into the control plane."""
    return {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}


def _listens(pid: int, port: int) -> bool:
    """Whether the port is served by our own process: a stranger may have been quicker."""
    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return False
    return any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in connections)


def _answers(url: str, context: ssl.SSLContext) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with contextlib.suppress(OSError), opener.open(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def _refuse_taken(port: int) -> None:
    for connection in psutil.net_connections(kind="tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
            holder = f" by process {connection.pid}" if connection.pid else ""
            raise DevError(f"port {port} is in use{holder}: choose another with --port, or leave it out")
