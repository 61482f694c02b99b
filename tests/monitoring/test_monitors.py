"""Prometheus finds what it is to scrape: the monitors ask for labels and ports that our objects have."""

from typing import Any

import yaml

from paceline_dev import REPOSITORY
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.objects import build_pod
from support.watching import MONITORING

MANIFESTS = REPOSITORY / "manifests"


def documents(name: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all((MANIFESTS / name).read_text()) if each is not None]


def monitors() -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in documents("monitoring/monitors.yaml")}


def test_a_service_has_the_labels_and_the_port_that_its_monitor_asks_for() -> None:
    for folder, name in (("base", "paceline-operator"), ("gateway", "paceline-gateway")):
        (service,) = documents(f"{folder}/service.yaml")
        assert service["metadata"]["name"] == name, "this becomes the label job, which alerts ask for"
        (endpoint,) = monitors()[name]["endpoints"]
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
        (labels,) = documents(f"{folder}/kustomization.yaml")[0]["labels"]
        assert monitors()[name]["selector"]["matchLabels"].items() <= labels["pairs"].items()


def test_the_namespace_of_a_group_is_not_overwritten_by_the_operators_own() -> None:
    assert monitors()["paceline-operator"]["endpoints"][0]["honorLabels"] is True


def test_a_runners_pod_has_the_label_and_the_port_that_its_monitor_asks_for() -> None:
    (document,) = documents("samples/runnergroup.yaml")
    document["metadata"] |= {"namespace": "ci", "uid": "u"}
    pod: dict[str, Any] = build_pod(RunnerGroup.model_validate(document), "builds-x2k4b", "u", 1, "here")
    monitor = monitors()["paceline-runners"]
    (wanted,) = monitor["selector"]["matchExpressions"]
    assert wanted["key"] in pod["metadata"]["labels"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    (relabeling,) = endpoint["relabelings"]
    label = wanted["key"].replace(".", "_").replace("/", "_")  # as Prometheus writes it
    assert relabeling == {"sourceLabels": [f"__meta_kubernetes_pod_label_{label}"], "targetLabel": "group"}


def test_the_dashboard_is_in_a_config_map_that_grafanas_sidecar_finds() -> None:
    (document,) = documents("monitoring/kustomization.yaml")
    (made,) = document["configMapGenerator"]
    assert made["options"]["labels"] == {"grafana_dashboard": "1"}
    assert [(MONITORING / file).is_file() for file in made["files"]] == [True]
