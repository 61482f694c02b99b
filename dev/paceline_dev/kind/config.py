"""What kind is told about a cluster."""

import json


def kind_config(workers: int, local: bool) -> str:
    """The configuration, as JSON, which is YAML too.

    On our own engine pods have IPv4 only, and the kubelet must not mind a machine with cgroup version 1.
    """
    config: dict[str, object] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _ in range(workers))],
    }
    if local:
        kubelet = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "failCgroupV1": False}
        config["networking"] = {"ipFamily": "ipv4"}
        config["kubeadmConfigPatches"] = [json.dumps(kubelet)]
    return json.dumps(config, indent=2)
