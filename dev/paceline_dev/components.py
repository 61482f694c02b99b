"""The command lines of the four programs, and the secrets they share."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paceline_dev import audit
from paceline_dev.binaries import Binaries
from paceline_dev.pki import Authority, KeyPair, signing_key

SERVICE_RANGE = "10.96.0.0/16"
ISSUER = "https://kubernetes.default.svc"


@dataclass(frozen=True, slots=True)
class Ports:
    """One loopback port for each listener."""

    etcd: int
    peer: int
    api: int
    manager: int
    scheduler: int


@dataclass(frozen=True, slots=True)
class Secrets:
    """Everything that proves somebody's identity."""

    authority: Path
    front_authority: Path
    server: KeyPair
    admin: KeyPair
    manager: KeyPair
    scheduler: KeyPair
    front_proxy: KeyPair
    kubelet_client: KeyPair
    node: KeyPair
    token_key: Path

    def kubeconfig(self, url: str, identity: KeyPair) -> str:
        """A kubeconfig with everything inline, so that it can be copied elsewhere (JSON is YAML)."""
        cluster = {"server": url, "certificate-authority-data": _inline(self.authority)}
        user = {
            "client-certificate-data": _inline(identity.certificate),
            "client-key-data": _inline(identity.key),
        }
        name = "paceline-dev"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        return json.dumps(config, indent=1)


def make_secrets(folder: Path) -> Secrets:
    """All certificates and keys of one control plane, in `<folder>/pki`."""
    place = folder / "pki"
    place.mkdir(mode=0o700)
    authority = Authority(place, "ca")
    front = Authority(place, "front-proxy-ca")
    return Secrets(
        authority=authority.certificate,
        front_authority=front.certificate,
        server=authority.issue("kube-apiserver"),
        admin=authority.issue("admin", ["system:masters"]),
        manager=authority.issue("system:kube-controller-manager"),
        scheduler=authority.issue("system:kube-scheduler"),
        front_proxy=front.issue("front-proxy-client"),
        kubelet_client=authority.issue("kube-apiserver-kubelet-client"),
        node=authority.issue("local-node", ["system:masters"]),
        token_key=signing_key(place / "service-account.key"),
    )


def commands(
    binaries: Binaries,
    folder: Path,
    ports: Ports,
    secrets: Secrets,
    node_grace: int | None = None,
    scale_every: float | None = None,
) -> Mapping[str, list[str | Path]]:
    """What to run, in the order of starting; each waits for the one before it by itself."""
    (folder / "audit-policy.yaml").write_text(audit.POLICY)
    api = f"https://127.0.0.1:{ports.api}"
    clients = {}
    for name, identity in (("manager", secrets.manager), ("scheduler", secrets.scheduler)):
        clients[name] = folder / f"{name}.kubeconfig"
        clients[name].write_text(secrets.kubeconfig(api, identity))
    return {
        "etcd": [binaries.etcd, *_flags(_etcd(folder, ports, secrets))],
        "kube-apiserver": [binaries.kube_apiserver, *_flags(_apiserver(folder, ports, secrets))],
        "kube-controller-manager": [
            binaries.kube_controller_manager,
            *_flags(_client(ports.manager, clients["manager"], secrets)),
            *_flags(
                {
                    "service-account-private-key-file": secrets.token_key,
                    "root-ca-file": secrets.authority,
                    "use-service-account-credentials": "true",
                }
            ),
            *_flags(_node_monitor(node_grace) if node_grace else {}),
            *_flags({"horizontal-pod-autoscaler-sync-period": f"{scale_every}s"} if scale_every else {}),
        ],
        "kube-scheduler": [
            binaries.kube_scheduler,
            *_flags(_client(ports.scheduler, clients["scheduler"], secrets)),
        ],
    }


def _flags(options: Mapping[str, str | Path | int]) -> list[str | Path]:
    return [f"--{name}={value}" for name, value in options.items()]


def _etcd(folder: Path, ports: Ports, secrets: Secrets) -> Mapping[str, str | Path | int]:
    return {
        "data-dir": folder / "etcd",
        "listen-client-urls": f"https://127.0.0.1:{ports.etcd}",
        "advertise-client-urls": f"https://127.0.0.1:{ports.etcd}",
        "listen-peer-urls": f"http://127.0.0.1:{ports.peer}",
        "initial-advertise-peer-urls": f"http://127.0.0.1:{ports.peer}",
        "initial-cluster": f"default=http://127.0.0.1:{ports.peer}",
        "client-cert-auth": "true",
        "trusted-ca-file": secrets.authority,
        "cert-file": secrets.server.certificate,
        "key-file": secrets.server.key,
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }


def _apiserver(folder: Path, ports: Ports, secrets: Secrets) -> Mapping[str, str | Path | int]:
    return {
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        # an endpoint in the loopback range is refused by the API server itself
        "endpoint-reconciler-type": "none",
        "secure-port": ports.api,
        "etcd-servers": f"https://127.0.0.1:{ports.etcd}",
        "etcd-cafile": secrets.authority,
        "etcd-certfile": secrets.admin.certificate,
        "etcd-keyfile": secrets.admin.key,
        "tls-cert-file": secrets.server.certificate,
        "tls-private-key-file": secrets.server.key,
        "client-ca-file": secrets.authority,
        "authorization-mode": "RBAC",
        "allow-privileged": "true",
        # who asks a node for logs; without an authority for their certificates nodes are not verified
        "kubelet-client-certificate": secrets.kubelet_client.certificate,
        "kubelet-client-key": secrets.kubelet_client.key,
        "service-cluster-ip-range": SERVICE_RANGE,
        "service-account-issuer": ISSUER,
        "service-account-key-file": secrets.token_key,
        "service-account-signing-key-file": secrets.token_key,
        "audit-policy-file": folder / "audit-policy.yaml",
        "audit-log-path": folder / "audit.log",
        "audit-log-mode": "blocking-strict",
        # aggregated APIs (external metrics) trust what the API server forwards by these
        "requestheader-client-ca-file": secrets.front_authority,
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": secrets.front_proxy.certificate,
        "proxy-client-key-file": secrets.front_proxy.key,
        "shutdown-delay-duration": "0s",
        "profiling": "false",
    }


def _node_monitor(grace: int) -> Mapping[str, str | Path | int]:
    """How soon a silent node is noticed."""
    return {"node-monitor-grace-period": f"{grace}s", "node-monitor-period": "1s"}


def _client(port: int, kubeconfig: Path, secrets: Secrets) -> Mapping[str, str | Path | int]:
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "tls-cert-file": secrets.server.certificate,
        "tls-private-key-file": secrets.server.key,
        "leader-elect": "false",
        "profiling": "false",
    }


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
