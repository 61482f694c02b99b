"""A runner's pod meets the restricted standard by itself; what its template says about that stays."""

import pytest

from paceline_operator.api.schema import JsonDict
from paceline_operator.domain.objects import build_pod
from unit.operator.world import group

SECCOMP = {"seccompProfile": {"type": "RuntimeDefault"}}
CLOSED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
RESTRICTED = {"runAsNonRoot": True, **CLOSED}


def template(pod: object = None, runner: object = None) -> JsonDict:
    """A template whose pod and runner have these security contexts, and whose sidecar has none."""
    container: JsonDict = {"name": "runner", "image": "i"}
    spec: JsonDict = {
        "containers": [container],
        "initContainers": [{"name": "proxy", "image": "p", "restartPolicy": "Always"}],
    }
    if pod is not None:
        spec["securityContext"] = pod  # type: ignore[assignment]  # JSON
    if runner is not None:
        container["securityContext"] = runner  # type: ignore[assignment]  # JSON
    return {"spec": spec}


def contexts(given: JsonDict) -> tuple[object, object, object]:
    """Of the pod, its runner and its sidecar."""
    spec = build_pod(group(1, template=given), "builds-x2k4b", "u-runner", 3, "here")["spec"]
    assert isinstance(spec, dict)
    runner, sidecar = spec["containers"][0], spec["initContainers"][0]  # type: ignore[index]  # JSON
    return spec.get("securityContext"), runner.get("securityContext"), sidecar.get("securityContext")  # type: ignore[union-attr]  # JSON


def test_a_template_that_says_nothing_gets_all_of_it_and_sidecars_are_the_users() -> None:
    assert contexts(template()) == (SECCOMP, RESTRICTED, None)


@pytest.mark.parametrize(
    ("pod", "runner", "pod_gets", "runner_gets"),
    [
        ({"fsGroup": 7}, {"runAsGroup": 8}, {"fsGroup": 7, **SECCOMP}, {"runAsGroup": 8, **RESTRICTED}),
        ({"seccompProfile": {"type": "Unconfined"}}, None, {"seccompProfile": {"type": "Unconfined"}}, RESTRICTED),
        ({"runAsUser": 1000}, None, {"runAsUser": 1000, **SECCOMP}, RESTRICTED),
        ({"runAsNonRoot": False}, None, {"runAsNonRoot": False, **SECCOMP}, CLOSED),
        ({"runAsUser": 0}, None, {"runAsUser": 0, **SECCOMP}, CLOSED),
        (None, {"runAsUser": 0}, SECCOMP, {"runAsUser": 0, **CLOSED}),
        ({"runAsUser": 0}, {"runAsUser": 9}, {"runAsUser": 0, **SECCOMP}, {"runAsUser": 9, **RESTRICTED}),
        (None, {"capabilities": {"add": ["NET_RAW"]}}, SECCOMP, {**RESTRICTED, "capabilities": {"add": ["NET_RAW"]}}),
        (None, {"capabilities": {"add": ["SYS_ADMIN"]}}, SECCOMP,
         {"runAsNonRoot": True, "capabilities": {"add": ["SYS_ADMIN"]}}),
        (None, {"privileged": True, "runAsUser": 0}, SECCOMP, {"privileged": True, "runAsUser": 0}),
    ],
)  # fmt: skip
def test_what_the_template_says_stays_and_nothing_that_contradicts_it_is_added(
    pod: object, runner: object, pod_gets: object, runner_gets: object
) -> None:
    assert contexts(template(pod, runner)) == (pod_gets, runner_gets, None)


def test_nonsense_is_left_for_the_api_server_to_refuse() -> None:
    assert contexts(template("strict", ["all"])) == ("strict", ["all"], None)
