"""What can be made to go wrong, by a method or by an annotation on the Node or the Pod."""

import asyncio
import re
from dataclasses import dataclass

from paceline_dev.errors import DevError
from paceline_dev.node.wire import Json

ANNOTATION = "node.paceline.dev/fault"
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class NodeFault:
    """What is wrong with a whole node."""

    not_ready: bool = False
    lose_pods: bool = False
    slow: float = 0.0


@dataclass(frozen=True, slots=True)
class PodFault:
    """What shall happen to one pod: `oom-kill`, `evict` or `lose`; `detail` is a container or a message."""

    kind: str = ""
    detail: str = ""


class Faults:
    """The faults of a running node, and somebody to wake when they change."""

    def __init__(self) -> None:
        """Begin without any."""
        self.now = NodeFault()
        self.changed = asyncio.Event()
        self._heard = asyncio.Event()
        self._heard.set()

    def set(self, fault: NodeFault) -> None:
        """Be that broken from now on."""
        self.now = fault
        if fault.not_ready:
            self._heard.clear()
        else:
            self._heard.set()
        self.changed.set()

    async def drag(self) -> None:
        """Take as long as a slow node takes for one thing."""
        if self.now.slow:
            await asyncio.sleep(self.now.slow)

    async def heard(self) -> None:
        """Wait until the node is not cut off."""
        await self._heard.wait()


def annotation(found: Json) -> str:
    """What the user has written on a Node or Pod."""
    text = (found["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    return str(text).strip()


def parse_node(text: str) -> NodeFault:
    """`not-ready`, `lose-pods` and `slow=3s`, in any mixture, with commas."""
    not_ready, lose_pods, slow = False, False, 0.0
    for word in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = word.partition("=")
        found = _SECONDS.fullmatch(value)
        if word == "not-ready":
            not_ready = True
        elif word == "lose-pods":
            lose_pods = True
        elif key == "slow" and found:
            slow = float(found[1]) * _UNITS[found[2]]
        else:
            raise DevError(f'{ANNOTATION}: "{word}" is no fault of a node (use not-ready, lose-pods or slow=3s)')
    return NodeFault(not_ready, lose_pods, slow)


def parse_pod(text: str) -> PodFault:
    """`oom-kill`, `oom-kill=CONTAINER`, `evict`, `evict=MESSAGE` or `lose`."""
    kind, _, detail = text.partition("=")
    if text and kind not in ("oom-kill", "evict", "lose"):
        raise DevError(f'{ANNOTATION}: "{text}" is no fault of a pod (use oom-kill, evict or lose)')
    return PodFault(kind, detail)
