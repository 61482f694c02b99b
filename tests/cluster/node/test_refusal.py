"""What the node does not serve it refuses, by name."""

import pytest

from cluster.local import LocalPlace
from cluster.place import Json, over

pytestmark = pytest.mark.timeout(300)
REFUSED: dict[str, tuple[Json, Json, str]] = {
    "host": ({"hostPID": True}, {}, "spec.hostPID"),
    "volume": (
        {"volumes": [{"name": "v", "secret": {"secretName": "x"}}]},
        {"volumeMounts": [{"name": "v", "mountPath": "/tmp"}]},
        "spec.volumes[0].secret",
    ),
    "folder": (
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumeMounts": [{"name": "v", "mountPath": "/no/such/folder"}]},
        "spec.containers[0].volumeMounts[0] (/no/such/folder is no folder of this machine)",
    ),
    "hook": ({}, {"lifecycle": {"postStart": {"sleep": {"seconds": 1}}}}, "spec.containers[0].lifecycle.postStart"),
    "probe": ({}, {"readinessProbe": {"grpc": {"port": 1}}}, "spec.containers[0].readinessProbe.grpc"),
    "gate": ({"readinessGates": [{"conditionType": "x/y"}]}, {}, "spec.readinessGates"),
    "several": ({"hostIPC": True}, {"tty": True}, "spec.containers[0].tty, spec.hostIPC"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_pod_with_a_field_that_is_not_served_is_refused_by_its_name(local: LocalPlace, case: str) -> None:
    spec, fields, path = REFUSED[case]
    await local.create(local.pod(local.shell("exit 0", **fields), **spec))
    status = await local.until(over, "it is refused")
    assert (status["phase"], status["reason"]) == ("Failed", "UnsupportedPodField")
    named = status["message"].split("does not serve ")[1].split(": leave it out")[0]
    assert sorted(named.split(", ")) == sorted(path.split(", "))
    assert (await local.ended())["reason"] == "UnsupportedPodField"


async def test_what_means_nothing_to_a_process_is_accepted(local: LocalPlace) -> None:
    main = local.shell(
        "exit 0",
        resources={"requests": {"cpu": "1m"}, "limits": {"memory": "64Mi"}},
        securityContext={"runAsNonRoot": True, "runAsUser": 65532},
        volumeMounts=[{"name": "scratch", "mountPath": "/tmp"}],
    )
    spec: Json = {
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "imagePullSecrets": [{"name": "x"}],
        "dnsPolicy": "None",
    }
    spec |= {"dnsConfig": {"nameservers": ["127.0.0.1"]}, "subdomain": "x", "hostname": "y"}
    await local.create(local.pod(main, **spec))
    assert (await local.until(over, "it is over"))["phase"] == "Succeeded"
