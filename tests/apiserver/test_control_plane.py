"""The control plane itself: real, its own, and never left behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from paceline_dev.audit import AuditLog
from paceline_dev.binaries import Binaries, find_binaries
from paceline_dev.control_plane import ControlPlane
from paceline_dev.errors import DevError
from paceline_dev.kubectl import Kubectl
from paceline_dev.progress import stderr_reporter

pytestmark = pytest.mark.timeout(240)

ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: default}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec: {containers: [{name: runner, image: none}]}
"""


@contextmanager
def serving(cache: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`python -m paceline_dev control-plane` as a user runs it, and its first line."""
    environment = {**os.environ, "PACELINE_CACHE": str(cache), "KUBEBUILDER_ASSETS": str(_binaries().folder)}
    command = [sys.executable, "-m", "paceline_dev", "control-plane", *args]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def _binaries() -> Binaries:
    return find_binaries(stderr_reporter())


def _descendants(pid: int) -> list[psutil.Process]:
    found = psutil.Process(pid).children(recursive=True)
    assert {"etcd", "kube-apiserver", "kube-scheduler"} <= {process.name() for process in found}
    return found


def test_a_service_account_token_is_good_for_what_rbac_grants_and_no_more(
    kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    kubectl.run("apply", "-n", namespace, "-f", "-", stdin=ROLE)
    token = kubectl.run("create", "token", "default", "-n", namespace).stdout.strip()
    bare = tmp_path / "kubeconfig"  # without the administrator's certificate, which would win over the token
    bare.write_text(kubectl.run("config", "view", "--raw", "--minify").stdout)
    as_account = Kubectl(kubectl.program, bare)
    as_account.run("config", "unset", "users")
    allowed = as_account.run("get", "configmap", "kube-root-ca.crt", "-n", namespace, f"--token={token}", check=False)
    refused = as_account.run("get", "secrets", "-n", namespace, f"--token={token}", check=False)
    assert allowed.returncode == 0, allowed.stderr
    assert refused.returncode != 0
    assert f'User "system:serviceaccount:{namespace}:default" cannot list resource "secrets"' in refused.stderr


def test_the_audit_log_counts_the_writes_of_one_user_in_one_namespace(
    kubectl: Kubectl, audit: AuditLog, namespace: str
) -> None:
    kubectl.run("create", "configmap", "one", "-n", namespace)
    kubectl.run("get", "configmap", "one", "-n", namespace)
    kubectl.run("create", "configmap", "one", "-n", namespace, check=False)
    kubectl.run("delete", "configmap", "one", "-n", namespace)
    ours = [write for write in audit.writes(user="admin", namespace=namespace) if write.resource == "configmaps"]
    assert [(write.verb, write.name, write.code) for write in ours] == [
        ("create", "one", 201),
        ("create", "one", 409),
        ("delete", "one", 200),
    ]


def test_the_scheduler_looks_at_pods(kubectl: Kubectl, namespace: str) -> None:
    kubectl.run("apply", "-n", namespace, "-f", "-", stdin=POD)
    kubectl.run("wait", "pod/waits", "-n", namespace, "--for=condition=PodScheduled=False", "--timeout=30s")
    reason = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}"
    assert "no nodes available" in kubectl.run("get", "pod", "waits", "-n", namespace, "-o", reason).stdout


def test_aggregated_apis_can_trust_the_api_server(kubectl: Kubectl) -> None:
    data = kubectl.json("get", "configmap", "extension-apiserver-authentication", "-n", "kube-system")["data"]
    assert "BEGIN CERTIFICATE" in data["requestheader-client-ca-file"]
    assert data["requestheader-allowed-names"] == '["front-proxy-client"]'


def test_somebody_without_credentials_may_do_nothing(control_plane: Path, kubectl: Kubectl, tmp_path: Path) -> None:
    stranger = tmp_path / "kubeconfig"
    stranger.write_text(kubectl.run("config", "view", "--raw", "--minify").stdout)
    as_nobody = Kubectl(kubectl.program, stranger)
    as_nobody.run("config", "unset", "users")
    done = as_nobody.run("get", "namespaces", "--username=nobody", "--password=none", check=False)
    assert done.returncode != 0
    assert 'User "system:anonymous" cannot list resource "namespaces"' in done.stderr


def test_a_killed_owner_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, line):
        assert line == f"export KUBECONFIG={tmp_path}/control-plane/kubeconfig"
        programs = _descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        _, left = psutil.wait_procs(programs, timeout=60)
        assert left == []
    assert not (tmp_path / "control-plane").exists()


def test_a_second_one_is_refused_and_ctrl_c_ends_the_first_cleanly(tmp_path: Path) -> None:
    with serving(tmp_path) as (first, _):
        with serving(tmp_path) as (second, _):
            _, complaint = second.communicate(timeout=60)
        assert second.returncode == 1
        assert complaint.startswith(f"error: a control plane runs already (waiting for pid {first.pid} since ")
        programs = _descendants(first.pid)
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=60) == 0
    assert not any(program.is_running() for program in programs)
    assert not (tmp_path / "control-plane").exists()


def test_a_port_in_use_is_refused_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DevError, match=f"port {port} is in use by process .* --port"):
            ControlPlane.start(_binaries(), port=port)


def test_a_program_that_does_not_start_is_quoted_in_one_line(tmp_path: Path) -> None:
    good = _binaries()
    broken = tmp_path / "etcd"
    broken.write_text("#!/bin/sh\necho the disk is on fire >&2\nexit 3\n")
    broken.chmod(0o755)
    bad = Binaries(
        good.folder, broken, good.kube_apiserver, good.kube_controller_manager, good.kube_scheduler, good.kubectl
    )
    with pytest.raises(DevError, match="etcd ended while starting: the disk is on fire") as caught:
        ControlPlane.start(bad)
    assert "\n" not in str(caught.value)
