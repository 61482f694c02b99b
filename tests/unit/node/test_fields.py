"""Every field of a pod is served, accepted for a reason, or named in a refusal."""

import pytest

from paceline_dev.node.fields import POD, Accepted, Each, Only, Rule, Served, unknown_fields
from unit.node.objects import Json, raw

TOKEN = {"name": "kube-api-access-x", "projected": {"sources": []}}


def main(**fields: object) -> Json:
    return {"name": "main", "image": "debian", **fields}


CASES: list[tuple[str, Json, list[str]]] = [
    ("nothing special", raw(), []),
    ("a field of the pod", raw(hostNetwork=True), ["spec.hostNetwork"]),
    ("a field of a container", raw(main(volumeDevices=[])), ["spec.containers[0].volumeDevices"]),
    ("a field that will exist one day", raw(main(teleport=True)), ["spec.containers[0].teleport"]),
    ("the second container", raw(main(), main(stdin=True)), ["spec.containers[1].stdin"]),
    ("an init container", raw(init=(main(tty=True),)), ["spec.initContainers[0].tty"]),
    ("a sidecar", raw(init=(main(restartPolicy="Always"),)), []),
    (
        "a policy of an init container",
        raw(init=(main(restartPolicy="Never"),)),
        ["spec.initContainers[0].restartPolicy"],
    ),
    ("a policy of a main container", raw(main(restartPolicy="Always")), ["spec.containers[0].restartPolicy"]),
    ("a switch that is off", raw(shareProcessNamespace=False), []),
    ("a switch that is on", raw(shareProcessNamespace=True), ["spec.shareProcessNamespace"]),
    ("another system", raw(os={"name": "windows"}), ["spec.os.name"]),
    ("the token", raw(main(volumeMounts=[{"name": TOKEN["name"], "mountPath": "/var/run"}]), volumes=[TOKEN]), []),
    ("another projection", raw(volumes=[{**TOKEN, "name": "mine"}]), ["spec.volumes[0].projected"]),
    ("a volume", raw(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), ["spec.volumes[0].hostPath"]),
    (
        "a resource",
        raw(main(env=[{"name": "A", "valueFrom": {"resourceFieldRef": {}}}])),
        ["spec.containers[0].env[0].valueFrom.resourceFieldRef"],
    ),
    ("a label", raw(main(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}}])), []),
    (
        "an unknown path",
        raw(main(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}])),
        ["spec.containers[0].env[0].valueFrom.fieldRef.fieldPath (spec.x)"],
    ),
    ("a hook", raw(main(lifecycle={"postStart": {}})), ["spec.containers[0].lifecycle.postStart"]),
    ("a signal", raw(main(lifecycle={"stopSignal": "SIGUSR1"})), ["spec.containers[0].lifecycle.stopSignal"]),
    ("a probe", raw(main(livenessProbe={"grpc": {}})), ["spec.containers[0].livenessProbe.grpc"]),
]


@pytest.mark.parametrize(("what", "pod", "refused"), CASES, ids=[case[0] for case in CASES])
def test_a_field_that_is_not_served_is_named(what: str, pod: Json, refused: list[str]) -> None:
    assert unknown_fields(pod["spec"], lambda _: True) == refused


@pytest.mark.parametrize(("folder", "refused"), [(True, 0), (False, 1)])
def test_an_empty_folder_must_be_one_of_the_machine(folder: bool, refused: int) -> None:
    pod = raw(main(volumeMounts=[{"name": "v", "mountPath": "/data"}]), volumes=[{"name": "v", "emptyDir": {}}])
    assert len(unknown_fields(pod["spec"], lambda _: folder)) == refused


def test_a_part_of_an_empty_folder_is_not_served() -> None:
    mounts = [{"name": "v", "mountPath": "/data", "subPath": "x"}]
    pod = raw(main(volumeMounts=mounts), volumes=[{"name": "v", "emptyDir": {}}])
    assert len(unknown_fields(pod["spec"], lambda _: True)) == 1


def accepted(rule: Rule) -> list[Accepted]:
    match rule:
        case Accepted():
            return [rule]
        case Served() | Only():
            return []
        case Each(inner):
            return accepted(inner)
    return [found for inner in rule.values() for found in accepted(inner)]


def test_what_is_accepted_without_effect_has_a_reason() -> None:
    assert all(len(each.why) > 5 for each in accepted(POD))
