"""Where pod stories take place: some cluster whose pods run somehow, seen only through the Kubernetes API.

A story must hold on a local node and on a kubelet alike. What differs between them is a method here.
"""

import abc
import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from paceline_dev.kubectl import Kubectl
from paceline_dev.node.api import AnswerError, Api

Json = dict[str, Any]
PATIENCE = 60.0
"""Seconds until a story gives up; most wait for less than one."""


@dataclass
class Place(abc.ABC):
    """A namespace of a cluster."""

    api: Api
    kubectl: Kubectl
    namespace: str

    image = "debian-python"
    """An image with sh and python3 and no entrypoint."""
    missing_image = "no-such-image:never"
    patience = PATIENCE

    @property
    @abc.abstractmethod
    def where(self) -> Json:
        """What a pod spec needs in order to come here."""

    @abc.abstractmethod
    async def run_out_of_memory(self, pod: str) -> None:
        """Let the main container of a pod be killed for its memory."""

    def path(self, name: str = "", kind: str = "pods") -> str:
        return f"/api/v1/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    def pod(self, *containers: Json, name: str = "story", restart: str = "Never", **spec: object) -> Json:
        """A pod; it goes quickly when it is deleted, unless the story says otherwise."""
        return {
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": restart,
                "terminationGracePeriodSeconds": 2,
                "containers": list(containers),
                **self.where,
                **spec,
            },
        }

    def shell(self, script: str, name: str = "main", **fields: object) -> Json:
        """A container with a shell script."""
        return {
            "name": name, "image": self.image, "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", script], **fields,
        }  # fmt: skip

    def python(self, script: str, *args: str, name: str = "main", **fields: object) -> Json:
        """A container with a Python script."""
        return {**self.shell("", name, **fields), "command": ["python3", "-u", "-c", script, *args]}

    async def create(self, pod: Json) -> str:
        found = await self.api.post(self.path(), pod)
        return str(found["metadata"]["name"])

    async def delete(self, name: str, grace: int | None = None) -> None:
        await self.api.delete(self.path(name), {} if grace is None else {"gracePeriodSeconds": grace})

    async def status(self, name: str = "story") -> Json:
        found: Json = (await self.api.get(self.path(name)))["status"]
        return found

    async def log(self, container: str = "main", name: str = "story", **query: str) -> str:
        return await self.api.text(f"{self.path(name)}/log", container=container, **query)

    async def until(self, true: Callable[[Json], object], what: str, name: str = "story") -> Json:
        """Wait until a pod's status is so."""
        last: Json = {}
        async with self.history(name) as seen:
            try:
                async with asyncio.timeout(self.patience):
                    async for _, pod in seen:
                        last = pod["status"]
                        if true(last):
                            return last
            except TimeoutError:
                pass
        raise AssertionError(f"it never came to this: {what}; the pod is {last}")

    async def ended(self, *orders: Callable[[], Awaitable[object]], name: str = "story") -> Json:
        """Delete a pod, or end it by other orders, and wait until its object is gone: the last status that it had."""
        last: Json = {}
        async with self.history(name) as seen:
            try:
                async with asyncio.timeout(self.patience):
                    last = (await anext(seen))[1]["status"]
                    for order in orders or (lambda: self.delete(name),):
                        await order()
                    async for kind, pod in seen:
                        last = pod["status"]
                        if kind == "DELETED":
                            return last
            except TimeoutError:
                pass
        raise AssertionError(f"it was never deleted: {last}")

    async def run(self, *args: str) -> "subprocess.CompletedProcess[str]":
        """kubectl in the namespace, without stopping the loop that a node may run in."""
        return await asyncio.to_thread(self.kubectl.run, "-n", self.namespace, *args, check=False)

    @asynccontextmanager
    async def history(self, name: str) -> AsyncIterator[AsyncIterator[tuple[str, Json]]]:
        """The pod as it is and every change of it."""
        stream = self._history(name)
        try:
            yield stream
        finally:
            await stream.aclose()  # type: ignore[attr-defined]  # an async generator

    async def _history(self, name: str) -> AsyncIterator[tuple[str, Json]]:
        selector = f"metadata.name={name}"
        found = await self.api.get(self.path(), fieldSelector=selector)
        version = found["metadata"]["resourceVersion"]
        for pod in found["items"]:
            yield "ADDED", pod
        while True:
            try:
                async for kind, pod in self.api.watch(self.path(), version, fieldSelector=selector):
                    version = pod["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        yield kind, pod
            except AnswerError as error:
                if error.code != 410:
                    raise


def container(status: Json, name: str = "main") -> Json:
    """The status of one container."""
    every = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    return next((each for each in every if each["name"] == name), {"state": {}, "lastState": {}})


def state(status: Json, kind: str, name: str = "main") -> Json:
    """What a container waits for, runs since, or ended with; empty if it does something else."""
    found: Json = container(status, name)["state"].get(kind) or {}
    return found


def condition(status: Json, kind: str) -> Json:
    """One condition of a pod."""
    found: Json = next((each for each in status.get("conditions", ()) if each["type"] == kind), {})
    return found


def ready(status: Json) -> bool:
    """Whether a pod is ready."""
    return bool(condition(status, "Ready").get("status") == "True")


def over(status: Json) -> bool:
    """Whether a pod has come to its end."""
    return status.get("phase") in ("Succeeded", "Failed")


async def eventually(true: Callable[[], Awaitable[object]], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something that only asking again can tell."""
    end = time.monotonic() + seconds
    while not await true():
        assert time.monotonic() < end, f"it never came to this: {what}"
        await asyncio.sleep(0.05)
