"""Logs of runners' pods: of one as it is; of a group each line with its pod's name, also of pods that come later."""

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from paceline.errors import NotFoundError
from paceline_cli.target import Target, find
from paceline_operator.domain.names import LABEL_GROUP, RUNNER_CONTAINER
from paceline_operator.ports.errors import ClusterError
from paceline_operator.ports.resources import POD

if TYPE_CHECKING:
    from paceline_cli.cluster import Where
    from paceline_cli.kube.streams import Streams

EVERY: Final = 2.0
"""Seconds between two looks for pods that have come."""


async def show_logs(where: "Where", given: str, query: Mapping[str, str]) -> None:
    """Of a Runner, or of all runners of a group."""
    target = await find(where, given)
    asked = {"container": RUNNER_CONTAINER, **query}
    async with where.streams() as streams:
        if target.is_group:
            await _of_group(where, streams, target.name, asked)
        else:
            await _of_runner(where, streams, target, asked)


async def _of_runner(where: "Where", streams: "Streams", target: Target, query: Mapping[str, str]) -> None:
    pod = (target.found.get("status") or {}).get("podName")  # it stays there when the pod has gone
    if not pod or await where.cluster.get(POD, where.namespace, pod) is None:
        raise NotFoundError(f"Runner {target.name} has no pod: {_why_none(target.found)}")
    async for piece in streams.log(where.namespace, pod, query):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


async def _of_group(where: "Where", streams: "Streams", group: str, query: Mapping[str, str]) -> None:
    """All at once; who follows, follows pods that come later too, until Ctrl-C or until none is left."""
    reading: dict[str, asyncio.Task[None]] = {}
    try:
        while True:
            pods = await where.cluster.list(POD, where.namespace, labels={LABEL_GROUP: group})
            for name in sorted(str(each["metadata"]["name"]) for each in pods):
                if name not in reading:
                    reading[name] = asyncio.create_task(_prefixed(streams, where.namespace, name, query))
            if "follow" not in query or not pods:
                break
            await asyncio.sleep(EVERY)
        await asyncio.gather(*reading.values())
    finally:
        for task in reading.values():
            task.cancel()
    if not reading:
        raise NotFoundError(f"group {group} has no pod: kubectl paceline status {group} -n {where.namespace} says why")


async def _prefixed(streams: "Streams", namespace: str, pod: str, query: Mapping[str, str]) -> None:
    """Whole lines only, so that those of two pods do not mix. A pod that has no log yet is one line that says so."""
    rest, mark = b"", f"[{pod}] ".encode()
    try:
        async for piece in streams.log(namespace, pod, query):
            *lines, rest = (rest + piece).split(b"\n")
            sys.stdout.buffer.write(b"".join(mark + line + b"\n" for line in lines))
            sys.stdout.buffer.flush()
    except ClusterError as error:
        rest = f"-- {error}".encode()
    if rest:
        sys.stdout.buffer.write(mark + rest + b"\n")


def _why_none(runner: dict[str, Any]) -> str:
    if runner["spec"].get("external"):
        return "it runs outside of the cluster, and its log is there"
    conditions = (runner.get("status") or {}).get("conditions") or ()
    ready: dict[str, Any] = next((each for each in conditions if each["type"] == "Ready"), {})
    return f"{ready.get('reason', 'the operator has not made one yet')} {ready.get('message', '')}".strip()
