"""The groups of an example in a namespace of the test's own: its manifest, with our node and our database."""

from pathlib import Path
from typing import Any

import yaml

from cluster.local import where
from cluster.operator.site import Site, shop
from cluster.place import Json
from examples.laptop import EXAMPLES
from paceline.queue import Queue


def queue_of(site: Site, pool: str) -> Queue:
    """The pool of an example."""
    return Queue(site.queue.database, pool)


def manifests(site: Site, example: str) -> dict[str, Json]:
    """The groups by their names. What only a kubelet has is taken out: GPUs, and volumes that are shared."""
    text = (EXAMPLES / example / "runnergroup.yaml").read_text()
    found = [_adapted(site, group) for group in yaml.safe_load_all(text)]
    return {group["metadata"]["name"]: group for group in found}


def _adapted(site: Site, group: Json) -> Json:
    group["metadata"]["namespace"] = site.namespace
    group["spec"]["database"]["secretRef"]["name"] = "db"
    pod, ours = group["spec"]["template"]["spec"], where(site.node.name)
    pod["nodeSelector"] = ours["nodeSelector"]
    pod["tolerations"] = [*pod.get("tolerations", ()), *ours["tolerations"]]
    (runner,) = pod["containers"]
    runner["imagePullPolicy"] = "IfNotPresent"
    runner.pop("env", None)
    runner["resources"]["limits"].pop("nvidia.com/gpu", None)
    pod["volumes"] = [each for each in pod["volumes"] if "emptyDir" in each]
    kept = {each["name"] for each in pod["volumes"]}
    runner["volumeMounts"] = [each for each in runner["volumeMounts"] if each["name"] in kept]
    return group


async def apply(site: Site, example: str, changes: dict[str, Json] | None = None, **env: str) -> None:
    """Give the node the image of an example, and the API server its groups; `changes` are for their specs."""
    folder: Path = EXAMPLES / example
    for name, group in manifests(site, example).items():
        group["spec"] |= (changes or {}).get(name, {})
        image: Any = group["spec"]["template"]["spec"]["containers"][0]["image"]
        site.node.add_image(image, shop(site.scratch, PYTHONPATH=str(folder), PACELINE_APP="jobs:jobs", **env))
        await site.apply(group)


async def ready(site: Site, size: int, name: str) -> None:
    """Wait until one group of several has so many runners that may claim."""

    async def is_so() -> bool:
        return bool((await site.status(name)).get("readyReplicas") == size)

    await site.until(is_so, f"{size} runners of {name} are ready")
