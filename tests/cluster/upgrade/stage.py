"""A cluster on which versions of Paceline come and go, by the commands that the how-to pages give."""

import abc
import asyncio
import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.operator.watcher import LEASE, Watcher
from cluster.place import Json
from paceline_dev import REPOSITORY
from paceline_dev.kind.install import DEPLOYMENT, OPERATOR_PODS, SYSTEM
from paceline_operator.domain.lease import ADDRESS
from support.released import Release

PAGE = REPOSITORY / "docs" / "how-to" / "upgrade.md"
EVERYTHING = ("api-resources", "--verbs=list", "-o", "name")
BUSY = {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"}
"""Kinds of which a cluster always has new ones, or that are not stored."""


@dataclass
class Stage(abc.ABC):
    """What the stories of coming and going need, wherever the pods run."""

    site: Watcher
    release: Release
    source: Path
    """The release's own tree."""

    @abc.abstractmethod
    def image(self, version: str) -> str:
        """The runner of a version, with handlers."""

    @abc.abstractmethod
    def as_pods_see(self, url: str) -> str:
        """The address of the database in a pod."""

    @abc.abstractmethod
    async def trust(self) -> None:
        """Let operators of a new install reach the API server."""

    async def kubectl(self, *words: str) -> str:
        """As the cluster's administrator."""
        return (await asyncio.to_thread(self.site.kubectl.run, *words)).stdout

    async def install(self, tree: Path, folder: str = "cluster-wide") -> None:
        """An operator for the whole cluster, by a version's own manifests."""
        await self.trust()
        await self.kubectl("apply", "-k", str(tree / "manifests" / folder))
        await self.rolled_out()

    async def rolled_out(self) -> None:
        await self.kubectl("-n", SYSTEM, "rollout", "status", DEPLOYMENT, "--timeout=240s")

    async def follow(self, heading: str) -> None:
        """Give the commands of a section of the page, as they stand there."""
        for words in commands(heading):
            if words[:2] == ["kubectl", "apply"]:
                await self.trust()
            await self.kubectl(*(self.site.namespace if word == "ci" else word for word in words[1:]))

    async def migrate(self) -> str:
        """By the Job of today, in the namespace of the groups; what it said."""
        site, folder = self.site, self.site.scratch / "migrate"
        folder.mkdir()
        around(folder, site.namespace)
        await site.secret("paceline-migrate", url=self.as_pods_see(site.url))
        await self.kubectl("apply", "-k", str(folder))
        job = ("-n", site.namespace, "wait", "job/paceline-migrate", "--for=condition=Complete", "--timeout=180s")
        await self.kubectl(*job)
        return await self.kubectl("-n", site.namespace, "logs", "job/paceline-migrate")

    async def acts(self, version: str) -> None:
        """Wait until an operator of that version holds the Lease, and only such are there."""

        async def is_so() -> bool:
            lease = await self.site.api.get(LEASE.format(SYSTEM, self.site.install))
            host = lease["metadata"].get("annotations", {}).get(ADDRESS, "").rpartition(":")[0]
            pods = await self.operators()
            there = {each["status"].get("podIP"): each["spec"]["containers"][0]["image"] for each in pods}
            wanted = f"paceline-operator:{version}"
            return bool(lease["spec"].get("holderIdentity")) and set(there.values()) == {wanted} == {there.get(host)}

        await self.site.until(is_so, f"an operator of {version} acts")

    async def operators(self) -> list[Json]:
        """Their pods, also those on their way out."""
        found: list[Json] = (await self.site.api.get(f"/api/v1/namespaces/{SYSTEM}/pods", labelSelector=OPERATOR_PODS))[
            "items"
        ]
        return found

    async def left(self) -> list[str]:
        """Whatever there is of ours in the cluster, or hangs in its deletion."""
        kinds = [each for each in (await self.kubectl(*EVERYTHING)).split() if each not in BUSY]
        found = json.loads(await self.kubectl("get", ",".join(kinds), "--all-namespaces", "-o", "json"))
        return sorted(f"{each['kind']} {each['metadata']['name']}" for each in found["items"] if _ours(each))


def around(folder: Path, namespace: str) -> None:
    """A kustomization around the Job that makes the tables."""
    component = os.path.relpath(REPOSITORY / "manifests" / "migrate", folder)
    (folder / "kustomization.yaml").write_text(json.dumps({"components": [component], "namespace": namespace}))


def _ours(found: Json) -> bool:
    meta = found["metadata"]
    labels = {**meta.get("labels", {}), **meta.get("annotations", {})}
    named = any(text.startswith("paceline.dev/") for text in [*labels, *meta.get("finalizers", ())])
    kind = found["apiVersion"].startswith("paceline.dev/") or meta["name"].endswith(".paceline.dev")
    part = labels.get("app.kubernetes.io/name") == "paceline" or meta["name"].startswith("paceline-operator")
    return named or kind or part or bool(meta.get("deletionTimestamp"))


def commands(heading: str, page: Path = PAGE) -> Sequence[list[str]]:
    """What the console of a section types, in the words of a shell; paths from the root of the repository."""
    (section,) = re.findall(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^\$ (kubectl .*)$", section, re.MULTILINE)
    assert lines, f"{heading} has no commands"
    return [[_absolute(word) for word in shlex.split(line, comments=True)] for line in lines]


def _absolute(word: str) -> str:
    return str(REPOSITORY / word) if word.startswith(("manifests/", "crds")) else word
