"""The way into a cluster, and what happens when it changes under way."""

import asyncio
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from apiserver.operator.people import account, kubeconfig, runner
from paceline_dev.audit import AuditLog
from paceline_dev.kubectl import Kubectl
from paceline_operator.adapters.access import Kubeconfig, ServiceAccount
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.ports.errors import NoAccessError
from paceline_operator.ports.resources import RUNNER

VERBS = "get,list,create,patch,delete"


@pytest.fixture
def environ(address: str) -> dict[str, str]:
    parts = urlsplit(address)
    return {"KUBERNETES_SERVICE_HOST": str(parts.hostname), "KUBERNETES_SERVICE_PORT": str(parts.port)}


def mount(folder: Path, token: str) -> None:
    """As the kubelet does it: a new file under the old name, at once."""
    draft = folder / "..draft"
    draft.write_text(token)
    draft.rename(folder / "token")


async def test_a_token_that_rotates_is_used_from_the_next_request_on(
    control_plane: Path,
    crds: list[str],
    kubectl: Kubectl,
    audit: AuditLog,
    namespace: str,
    environ: dict[str, str],
    tmp_path: Path,
) -> None:
    (tmp_path / "ca.crt").write_bytes((control_plane / "pki/ca.crt").read_bytes())
    first, second = (account(kubectl, namespace, name, VERBS, "runners.paceline.dev") for name in ("one", "two"))
    mount(tmp_path, first)
    async with KubernetesCluster(ServiceAccount(tmp_path, environ)) as cluster:
        await cluster.apply(runner(namespace))
        mount(tmp_path, second + "\n")
        await cluster.apply(runner(namespace))
        (tmp_path / "token").unlink()
        await cluster.apply(runner(namespace))
    who = [write.user.rpartition(":")[2] for write in audit.writes(namespace=namespace) if write.resource == "runners"]
    assert who == ["one", "two", "two"]


async def test_a_kubeconfig_is_read_again_when_its_token_is_refused(
    control_plane: Path, crds: list[str], kubectl: Kubectl, address: str, namespace: str, tmp_path: Path
) -> None:
    path = kubeconfig(tmp_path, server=address, plane=control_plane, token="outdated")
    async with KubernetesCluster(Kubeconfig(str(path))) as cluster:
        token = account(kubectl, namespace, "one", VERBS, "runners.paceline.dev")
        kubeconfig(tmp_path, server=address, plane=control_plane, token=token)
        found = await asyncio.gather(*(cluster.list(RUNNER, namespace) for _ in range(10)))
        assert found == [[]] * 10, "also for those that were under way while the first read it again"


async def test_a_context_is_chosen_by_name(control_plane: Path, address: str, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, server="https://127.0.0.1:1", plane=control_plane)
    config = json.loads(path.read_text())
    good = {"server": address, **{k: v for k, v in config["clusters"][0]["cluster"].items() if k != "server"}}
    config["clusters"].append({"name": "good", "cluster": good})
    config["contexts"].append({"name": "good", "context": {"cluster": "good", "user": "u"}})
    path.write_text(json.dumps(config))
    async with KubernetesCluster(Kubeconfig(str(path), "good")) as cluster:
        assert await cluster.get(RUNNER, "default", "nobody") is None
    with pytest.raises(NoAccessError, match=r"cannot be used: .*bad"):
        await Kubeconfig(str(path), "bad").open()


@pytest.mark.parametrize("left_out", ["token", "ca.crt", "KUBERNETES_SERVICE_HOST"])
async def test_a_pod_without_its_service_account_says_what_is_missing(
    environ: dict[str, str], tmp_path: Path, left_out: str
) -> None:
    for name in {"token", "ca.crt"} - {left_out}:
        (tmp_path / name).write_text("x")
    environ.pop(left_out, None)
    with pytest.raises(NoAccessError, match=left_out):
        await ServiceAccount(tmp_path, environ).open()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"clusters": []}', "users: [{token: *hunter2}]"])
async def test_a_kubeconfig_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(NoAccessError, match=f"the kubeconfig {path} cannot be used") as bad:
        await Kubeconfig(str(path)).open()
    assert "hunter2" not in str(bad.value), "a YAML error quotes what it stumbled over"
    with pytest.raises(NoAccessError, match="cannot be used"):
        await Kubeconfig(os.fspath(tmp_path / "none")).open()
