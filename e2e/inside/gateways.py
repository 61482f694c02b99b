"""The gateway in the namespace of a story, as its manifests have it, at an address outside of the cluster."""

import json
import os
from pathlib import Path

from cluster.operator.gateways import Gateways, answers
from e2e.inside.places import KindSite
from paceline_dev import REPOSITORY

DEPLOYMENT = "deployment/paceline-gateway"
OUTSIDE = [{"op": "add", "path": "/spec/type", "value": "NodePort"}]


class DeployedGateways(Gateways):
    """Two pods behind a port of the nodes."""

    def __init__(self, site: KindSite) -> None:
        """Apply them first."""
        self._site = site

    async def apply(self, login_url: str) -> None:
        """Until they serve; their login is for the database as pods reach it."""
        site = self._site
        await site.run("create", "secret", "generic", "paceline-gateway", f"--from-literal=url={login_url}")
        folder = site.scratch / "gateway"
        folder.mkdir()
        (folder / "kustomization.yaml").write_text(json.dumps(overlay(folder, site.namespace)))
        code, said = await site.sh("apply", "-k", str(folder))
        assert code == 0, said
        await self._settled()
        service = await site.api.get(f"/api/v1/namespaces/{site.namespace}/services/paceline-gateway")
        (node, *_) = (await site.api.get("/api/v1/nodes"))["items"]
        (host,) = [each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"]
        self.url = f"http://{host}:{service['spec']['ports'][0]['nodePort']}"
        await answers(self.url)

    async def restart(self) -> None:
        await self._site.run("rollout", "restart", DEPLOYMENT)
        await self._settled()

    async def _settled(self) -> None:
        said = await self._site.run("rollout", "status", DEPLOYMENT, "--timeout=240s")
        assert "successfully rolled out" in said, said


def overlay(folder: Path, namespace: str) -> dict[str, object]:
    """The manifests in another namespace, their Service open to the outside."""
    return {
        "resources": [os.path.relpath(REPOSITORY / "manifests" / "gateway", folder)],
        "namespace": namespace,
        "patches": [{"target": {"kind": "Service"}, "patch": json.dumps(OUTSIDE)}],
    }
