"""How pods and nodes are read."""

import pytest

from paceline_operator.api.core import Node, Pod
from paceline_operator.domain.seen import NodeSeen, PodSeen, read_node, read_pod
from unit.operator.world import START


def read(status: dict[str, object], **meta: object) -> PodSeen:
    labels = {"paceline.dev/group": "builds", "paceline.dev/runner": "a", "paceline.dev/revision": "rev"}
    raw = {
        "metadata": {"name": "a-2", "uid": "u", "labels": labels, **meta},
        "spec": {"nodeName": "n1"},
        "status": status,
    }
    return read_pod(Pod.model_validate(raw), START)


def state(name: str = "runner", **kind: object) -> dict[str, object]:
    return {"containerStatuses": [{"name": name, "state": kind}]}


def test_a_new_pod_is_live_and_not_ready() -> None:
    found = read({})
    assert (found.name, found.boot, found.runner, found.node, found.revision) == ("a-2", 2, "a", "n1", "rev")
    assert (found.live, found.ready, found.ended, found.owner) == (True, False, False, None)


def test_ready_owner_and_deletion_are_read() -> None:
    owners = [{"apiVersion": "x", "kind": "Runner", "name": "a", "uid": "r", "controller": True}]
    found = read({"conditions": [{"type": "Ready", "status": "True"}]}, ownerReferences=owners,
                 deletionTimestamp="2026-11-17T12:00:00Z")  # fmt: skip
    assert (found.ready, found.owner, found.deleting, found.live) == (True, "r", True, False)


@pytest.mark.parametrize(
    ("status", "end"),
    [
        (state(terminated={"exitCode": 137, "reason": "OOMKilled"}), (137, "OOMKilled", "")),
        (state(terminated={"exitCode": 1, "reason": "Error", "message": "boom"}), (1, "Error", "boom")),
        ({"phase": "Failed", "reason": "Evicted", "message": "low memory"}, (-1, "Evicted", "low memory")),
        (
            {"phase": "Failed", "reason": "Evicted", **state(terminated={"exitCode": 0, "reason": "Completed"})},
            (0, "Evicted", ""),
        ),
        ({"phase": "Succeeded"}, (0, "", "")),
        (state("sidecar", terminated={"exitCode": 1}), (None, "", "")),
        (state(running={}), (None, "", "")),
    ],
)
def test_the_end_is_that_of_the_runners_container(status: dict[str, object], end: tuple[object, str, str]) -> None:
    found = read(status)
    assert (found.exit_code, found.end_reason, found.end_message) == end


@pytest.mark.parametrize(
    ("status", "stuck"),
    [
        (state(waiting={"reason": "ContainerCreating"}), ""),
        (state(waiting={"reason": "ImagePullBackOff", "message": "no such image"}), "ImagePullBackOff: no such image"),
        (state(waiting={"reason": "CreateContainerConfigError"}), "CreateContainerConfigError"),
        ({"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
         "CrashLoopBackOff"),
        ({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}]},
         "Unschedulable: no node"),
        ({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulerError"}]}, ""),
    ],
)  # fmt: skip
def test_why_a_pod_cannot_start_is_quoted(status: dict[str, object], stuck: str) -> None:
    assert read(status).stuck == stuck


def test_who_took_a_pod_away_is_read() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    assert read({"conditions": [target]}).disrupted == "PreemptionByScheduler"
    assert read({"conditions": [{**target, "status": "False"}]}).disrupted == ""


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ({}, NodeSeen()),
        ({"spec": {"unschedulable": True}}, NodeSeen(cordoned=True)),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, NodeSeen(ready=False)),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, NodeSeen(ready=False)),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, NodeSeen()),
    ],
)
def test_a_node_is_cordoned_or_silent(raw: dict[str, object], seen: NodeSeen) -> None:
    assert read_node(Node.model_validate({"metadata": {"name": "n"}, **raw})) == seen
