"""The page about KEDA and the HPA: its manifests name what the operator really serves, and are valid."""

import re
from typing import Any

import kubernetes_validate
import yaml

from paceline_dev import REPOSITORY
from paceline_operator.domain.metrics_api import API, LABEL, METRIC
from paceline_operator.domain.scaling.told import DemandTold
from paceline_operator.handlers.server import DEMAND

PAGE = (REPOSITORY / "docs/how-to/scale-from-outside.md").read_text()
MANIFESTS = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
TARGET = {"apiVersion": "paceline.dev/v1alpha1", "kind": "RunnerGroup", "name": "builds"}


def only(kind: str) -> dict[str, Any]:
    (found,) = [each for each in MANIFESTS if each.get("kind") == kind]
    assert found["spec"]["scaleTargetRef"] == TARGET
    spec: dict[str, Any] = found["spec"]
    return spec


def test_keda_asks_our_service_for_a_field_that_is_there() -> None:
    (trigger,) = only("ScaledObject")["triggers"]
    service = yaml.safe_load((REPOSITORY / "manifests/base/service.yaml").read_text())
    host = f"{service['metadata']['name']}.paceline-system.svc:{service['spec']['ports'][0]['port']}"
    asked = trigger["metadata"]
    assert asked["url"] == f"http://{host}{DEMAND.format(namespace='ci', group='builds')}"
    assert asked["valueLocation"] in DemandTold.__dataclass_fields__
    assert (asked["targetValue"], asked["activationTargetValue"]) == ("1", "0")


def test_the_hpa_asks_for_our_metric() -> None:
    (metric,) = only("HorizontalPodAutoscaler")["metrics"]
    asked = metric["external"]
    assert asked["metric"] == {"name": METRIC, "selector": {"matchLabels": {LABEL: "builds"}}}
    assert f"/apis/{API}/namespaces/ci/{METRIC}?labelSelector={LABEL}%3Dbuilds" in PAGE
    (whole,) = [each for each in MANIFESTS if each.get("kind") == "HorizontalPodAutoscaler"]
    kubernetes_validate.validate(whole, "1.36", strict=True)
