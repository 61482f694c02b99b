"""The last words about a pod: refused by name, or deleted for good."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from paceline_dev.node.api import TROUBLE, AnswerError, Api
from paceline_dev.node.wire import Json, now, stamp

REASON = "UnsupportedPodField"
PAUSE = 0.5


def _path(pod: Json) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


async def refuse(api: Api, pod: Json, fields: Sequence[str]) -> None:
    """Fail a pod for the fields that the node does not know, as a kubelet fails one that it cannot admit."""
    words = f"The local node does not serve {', '.join(fields)}: leave it out, or use a cluster with a kubelet"
    status = {"phase": "Failed", "reason": REASON, "message": words, "startTime": stamp(now())}
    body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
    await _insist(lambda: api.patch(f"{_path(pod)}/status", body))


async def remove(api: Api, pod: Json) -> None:
    """Delete a pod of which nothing runs any more; another of the same name is left alone."""
    body: Json = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
    await _insist(lambda: api.delete(_path(pod), body))


async def _insist(call: Callable[[], Awaitable[Json]]) -> None:
    """Until it is done, or the pod is gone."""
    while True:
        try:
            await call()
        except AnswerError as error:
            if error.code in (404, 409):
                return
        except TROUBLE:
            pass
        else:
            return
        await asyncio.sleep(PAUSE)
