"""Somebody to be: kubeconfigs, service accounts with few rights, and the objects that tests write."""

import base64
import json
import time
from pathlib import Path
from typing import Any

from paceline_dev.kubectl import Kubectl
from paceline_operator.ports.cluster import Manifest


def kubeconfig(folder: Path, *, server: str, plane: Path | None = None, token: str | None = None) -> Path:
    """A kubeconfig for that address: with the administrator's certificate, with a token, or with nothing."""
    cluster: dict[str, Any] = {"server": server}
    user: dict[str, Any] = {}
    if plane:
        known = json.loads((plane / "kubeconfig").read_text())
        cluster["certificate-authority-data"] = known["clusters"][0]["cluster"]["certificate-authority-data"]
        user = known["users"][0]["user"]
    if token:
        user = {"token": token}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig.json"
    path.write_text(json.dumps(config))
    return path


def account(kubectl: Kubectl, namespace: str, name: str, verbs: str = "", resources: str = "pods") -> str:
    """A service account that may do no more than that; its token."""
    kubectl.run("create", "serviceaccount", name, "-n", namespace)
    if verbs:
        kubectl.run("create", "role", name, "-n", namespace, f"--verb={verbs}", f"--resource={resources}")
        binding = ("create", "rolebinding", name, "-n", namespace, f"--role={name}")
        kubectl.run(*binding, f"--serviceaccount={namespace}:{name}")
        who = f"--as=system:serviceaccount:{namespace}:{name}"
        asked = ("auth", "can-i", verbs.split(",")[-1], resources, "-n", namespace, who)
        while kubectl.run(*asked, check=False).returncode != 0:
            time.sleep(0.05)  # the authorizer hears of a new binding a moment later
    return kubectl.run("create", "token", name, "-n", namespace).stdout.strip()


def pod(namespace: str, name: str = "p", **meta: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **meta},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "runner", "image": "none"}]},
    }


def group(namespace: str, name: str = "builds", **spec: Any) -> Manifest:
    return {
        "apiVersion": "paceline.dev/v1alpha1",
        "kind": "RunnerGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"database": {"secretRef": {"name": "db"}}, **spec},
    }


def runner(namespace: str, name: str = "r") -> Manifest:
    return {
        "apiVersion": "paceline.dev/v1alpha1",
        "kind": "Runner",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"groupRef": {"name": "builds"}},
    }


def condition(kind: str, status: str = "True") -> Manifest:
    when = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": "Because", "message": "", "lastTransitionTime": when}


def secret(namespace: str, name: str, data: dict[str, bytes]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def uid(manifest: Manifest | None) -> str:
    assert manifest is not None
    return str(manifest["metadata"]["uid"])
