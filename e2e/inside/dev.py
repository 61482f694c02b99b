"""`manifests/dev` on the cluster, with nothing changed but where its PostgreSQL's image comes from."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.place import Json
from e2e.inside.stages import clear
from paceline_dev import REPOSITORY
from paceline_dev.images.recipe import POSTGRES
from paceline_dev.kind.install import SYSTEM, install
from paceline_dev.kubectl import Kubectl

VOLUME = "paceline-dev"
PLACE = f"/var/lib/{VOLUME}"
USER = "999"
"""As whom its PostgreSQL runs."""
GATEWAY = "deployment/paceline-gateway"
PACELINE = ("sh", "-c", 'PACELINE_DATABASE_URL=$(cat /etc/paceline/database/url) exec paceline "$@"', "paceline")
"""In a gateway's pod, from where the database is reached; the URL is in a file there."""


@dataclass(frozen=True)
class Dev:
    """That install, as a person sees it who has kubectl and nothing else."""

    kubectl: Kubectl

    def run(self, *words: str) -> str:
        """kubectl in its namespace."""
        return self.kubectl.run("-n", SYSTEM, *words).stdout

    def paceline(self, *words: str, check: bool = True) -> str:
        """The command, for whoever may look into pods."""
        return self.kubectl.run("-n", SYSTEM, "exec", GATEWAY, "--", *PACELINE, *words, check=check).stdout

    def does(self, kind: str, payload: object) -> object:
        """What a job of the sample group gives."""
        ended = json.loads(self.paceline("enqueue", kind, json.dumps(payload), "--pool=builds", "--wait", "--json"))
        assert ended["state"] == "done", ended
        return ended["result"]


@contextlib.contextmanager
def applied(kubectl: Kubectl, folder: Path) -> Iterator[Dev]:
    """By the commands of the install page, until all of it works; afterwards Paceline is as other stories want it."""
    clear(kubectl)
    _offer_volume(kubectl)
    (folder / "kustomization.yaml").write_text(json.dumps(_around(folder)))
    made = Dev(kubectl)
    try:
        kubectl.run("apply", "-k", str(REPOSITORY / "crds"))
        kubectl.run("wait", "--for=condition=Established", "-f", str(REPOSITORY / "crds"), "--timeout=60s")
        kubectl.run("apply", "-k", str(folder))
        made.run("wait", "job/paceline-migrate", "--for=condition=Complete", "--timeout=240s")
        for each in ("deployment/paceline-operator", GATEWAY):
            made.run("rollout", "status", each, "--timeout=240s")
        yield made
    finally:
        made.run("delete", "rgrp", "--all", "--timeout=120s")
        kubectl.run("delete", "-k", str(folder), "--ignore-not-found", "--timeout=180s")
        kubectl.run("delete", "pv", VOLUME, "--ignore-not-found", "--timeout=60s")
        install(kubectl)


def _around(folder: Path) -> Json:
    """What somebody writes whose nodes cannot pull the image."""
    return {
        "resources": [os.path.relpath(REPOSITORY / "manifests" / "dev", folder)],
        "images": [{"name": "postgres", "newName": POSTGRES.name, "newTag": "18"}],
    }


def _offer_volume(kubectl: Kubectl) -> None:
    """Nobody here makes volumes for claims; `docker` must be on the PATH."""
    nodes = kubectl.json("get", "nodes")["items"]
    node = nodes[-1]["metadata"]["name"]
    for command in (["rm", "-rf", PLACE], ["install", "-d", "-o", USER, "-g", USER, PLACE]):
        subprocess.run(["docker", "exec", node, *command], check=True, capture_output=True)
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    volume = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": VOLUME},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "standard",
                 "hostPath": {"path": PLACE},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}},
    }  # fmt: skip
    kubectl.run("apply", "-f", "-", stdin=json.dumps(volume))
