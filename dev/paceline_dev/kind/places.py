"""Where the local engine and its clusters keep what they have: caches that stay, and a running state that goes.

Everything that two caches on one machine could fight over (namespace, sockets, cgroup) carries a hash of the cache's
path, so `HOME=$(mktemp -d)` gives an engine of its own.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.cache import cache_root

RUN = Path("/run")
"""Short and root's own: a unix socket's path has at most 107 characters, a HOME may have more."""
NETNS = Path("/run/netns")


@dataclass(frozen=True, slots=True)
class Places:
    """All paths and names of one cache's engine."""

    cache: Path

    @property
    def tag(self) -> str:
        """What tells this cache's things from another's."""
        return hashlib.sha256(str(self.cache).encode()).hexdigest()[:8]

    @property
    def namespace(self) -> str:
        """The name of the network namespace."""
        return f"paceline-{self.tag}"

    @property
    def namespace_file(self) -> Path:
        """Where `ip netns` mounts it."""
        return NETNS / self.namespace

    @property
    def cgroup(self) -> str:
        """The cgroup that every container of the engine is in, without a leading slash."""
        return f"paceline-{self.tag}"

    @property
    def run(self) -> Path:
        """Sockets, process records and the engine's short-lived state."""
        return RUN / f"paceline-{self.tag}"

    @property
    def docker_socket(self) -> Path:
        """Where the local dockerd listens."""
        return self.run / "docker.sock"

    @property
    def containerd_socket(self) -> Path:
        """Where the local containerd listens."""
        return self.run / "containerd.sock"

    @property
    def data(self) -> Path:
        """Images and containers of the engine; removed with it, since every image can be loaded or built again."""
        return self.cache / "engine"

    @property
    def logs(self) -> Path:
        """What the daemons said; kept when the engine goes."""
        return self.cache / "logs"

    @property
    def lock(self) -> Path:
        """Held by whoever starts, changes or removes the engine or a cluster."""
        return self.cache / "engine.lock"

    def kubeconfig(self, cluster: str) -> Path:
        """The administrator's way into a cluster."""
        return self.cache / "clusters" / cluster / "kubeconfig"


def places() -> Places:
    """Those of the cache that this process uses."""
    return Places(cache_root() / "kind")
