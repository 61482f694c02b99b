"""SIGKILL for a container, from its node: as a crash would, with nobody told before. The API server only ever asks."""

import subprocess

from paceline_dev.errors import DevError
from paceline_dev.node.wire import Json

# A container's id is in the cgroup of each of its processes, whichever driver named the cgroup.
FIND_AND_KILL = """\
for each in /proc/[0-9]*; do
  grep -qs "$0" "$each/cgroup" && kill -9 "${each#/proc/}" && echo "$each"
done"""


def kill_container(pod: Json, name: str) -> None:
    """End all processes of one container of a pod; `docker` must be on the PATH, as it is for the engine's clients."""
    statuses = {each["name"]: each for each in pod["status"].get("containerStatuses", ())}
    container = str(statuses.get(name, {}).get("containerID", "")).rpartition("/")[2]
    where = f"container {name} of pod {pod['metadata']['name']}"
    if not container:
        raise DevError(f"{where} cannot be killed: it does not run")
    command = ["docker", "exec", pod["spec"]["nodeName"], "sh", "-c", FIND_AND_KILL, container]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise DevError(f"{where} cannot be killed: its node has no such process {done.stderr.strip()}".rstrip())
