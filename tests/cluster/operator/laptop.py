"""A runner outside of pods, wherever the pods are."""

import os
from pathlib import Path

from cluster.operator.watcher import Watcher
from paceline.testing.scratch import free_ports
from support.forked import Forked


def start_laptop(site: Watcher, name: str = "laptop", group: str = "builds") -> Forked:
    """Start one that registers in a group of the site; the site ends it."""
    words = ["--group", f"{site.namespace}/{group}", "--install", site.install, "--name", name]
    return started(site, name, words, {"PACELINE_DATABASE_URL": site.url})


def started(site: Watcher, name: str, words: list[str], own: dict[str, str]) -> Forked:
    """`paceline run` with the handlers of the pods, and what else it is told."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
    env |= {"SCRATCH": str(site.scratch), "PACELINE_LOG_FORMAT": "json", **own}
    words = ["run", "--app", site.app, "--listen", f"127.0.0.1:{free_ports(1)[0]}", *words]
    path = site.scratch / f"{name}.log"
    with path.open("ab") as log, Path(os.devnull).open() as nothing:
        paths = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
        process = Forked(
            words, {**env, "PYTHONPATH": paths}, stdin=nothing.fileno(), stdout=log.fileno(), stderr=log.fileno()
        )
    site.laptops.append(process)
    return process
