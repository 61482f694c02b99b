"""An operator that is a service account with the shipped rights, and no administrator."""

import asyncio
import json

from cluster.operator.site import Site
from paceline_dev.rights import rights_of


async def as_shipped(site: Site) -> str:
    """Let the operator be the service account with the shipped roles, bound in its namespace; who that is."""
    shipped = rights_of(site.install)
    await asyncio.to_thread(site.kubectl.run, "apply", "-n", site.namespace, "-f", "-", stdin=shipped)
    who = f"{site.namespace}:paceline-operator"
    await site.run("create", "rolebinding", "op", "--clusterrole=paceline-operator", f"--serviceaccount={who}")
    await site.run("create", "rolebinding", "lease", "--role=paceline-operator-lease", f"--serviceaccount={who}")
    await site.run("create", "clusterrolebinding", site.namespace, "--clusterrole=paceline-operator-nodes",
                   f"--serviceaccount={who}")  # fmt: skip
    return await become(site)


async def become(site: Site) -> str:
    """Let the operator be the service account of its namespace; who that is."""
    token = (await site.run("create", "token", "paceline-operator")).strip()
    config = json.loads(site.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    site.kubeconfig = site.scratch / "operator.kubeconfig"
    site.kubeconfig.write_text(json.dumps(config))
    return f"system:serviceaccount:{site.namespace}:paceline-operator"
