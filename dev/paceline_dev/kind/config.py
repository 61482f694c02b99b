"""What kind is told about a cluster."""

import json

# Kubernetes gives up on cgroup version 1 unless it is told that the machine has nothing else.
KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "failCgroupV1": False}


def kind_config(workers: int, local: bool) -> str:
    """The configuration, as JSON, which is YAML too; the CNI daemon of our own engine's nodes knows IPv4 only."""
    config: dict[str, object] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _ in range(workers))],
        "kubeadmConfigPatches": [json.dumps(KUBELET)],
    }
    return json.dumps(config | ({"networking": {"ipFamily": "ipv4"}} if local else {}), indent=2)
