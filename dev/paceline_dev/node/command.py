"""`python -m paceline_dev node`: a local node until Ctrl-C, with one line for each thing that happens to a pod."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.cache import cache_root
from paceline_dev.control_plane import NODE_KUBECONFIG
from paceline_dev.errors import DevError
from paceline_dev.node.images import PATH, parse_image
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec, parse_taint
from paceline_dev.node.services import Timing
from paceline_dev.node.wire import now, stamp
from paceline_dev.progress import stderr_reporter


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    kubeconfig: Path | None
    name: str
    images: list[str]
    pods: int
    cpu: str
    memory: str
    labels: list[str]
    taints: list[str]
    port: int
    back_off: float
    back_off_most: float
    leave_objects: bool
    as_json: bool


def serve(options: Options) -> None:
    """Run a node until SIGINT or SIGTERM."""
    asyncio.run(_serve(options))


async def _serve(options: Options) -> None:
    say = _json_lines() if options.as_json else _plain_lines()
    own = f"{Path(sys.executable).parent}:{PATH}"
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    node = LocalNode(
        options.kubeconfig or _usual_kubeconfig(),
        NodeSpec(
            name=options.name,
            pods=options.pods,
            cpu=options.cpu,
            memory=options.memory,
            labels=dict(_label(each) for each in options.labels),
            taints=[parse_taint(each) for each in options.taints],
        ),
        images=dict(parse_image(each, own) for each in options.images),
        timing=Timing(backoff=options.back_off, backoff_most=options.back_off_most),
        port=options.port,
        stop_grace=2.0,
        leave_objects=options.leave_objects,
        say=say,
    )
    async with node:
        say("", "ready; Ctrl-C ends it and its pods")
        await over.wait()
        say("", "ends its pods")


def _usual_kubeconfig() -> Path:
    """That of the control plane that runs from this cache, else the user's own."""
    own = cache_root() / "control-plane" / NODE_KUBECONFIG
    if own.exists():
        return own
    if chosen := os.environ.get("KUBECONFIG"):
        return Path(chosen)
    raise DevError(
        "no cluster to join: start one with `python -m paceline_dev control-plane`, or name one with --kubeconfig"
    )


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise DevError(f'--label "{text}" is not KEY=VALUE')
    return key, value


def _plain_lines() -> Callable[[str, str], None]:
    report = stderr_reporter()
    return lambda pod, words: report.line(f"{pod or 'node'}: {words}")


def _json_lines() -> Callable[[str, str], None]:
    def say(pod: str, words: str) -> None:
        sys.stdout.write(json.dumps({"at": stamp(now()), "pod": pod, "message": words}) + "\n")
        sys.stdout.flush()

    return say
