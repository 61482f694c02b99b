"""A HorizontalPodAutoscaler for a group, and the way by which it asks for demand."""

from cluster.operator.site import Site
from cluster.place import Json
from paceline_dev.node.api import AnswerError

HPAS = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers/{}"


def hpa(namespace: str, name: str, most: int, **behavior: object) -> Json:
    """One that wants as many runners as the queue of the group `name` does."""
    metric = {"name": "paceline-demand", "selector": {"matchLabels": {"group": name}}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "paceline.dev/v1alpha1", "kind": "RunnerGroup", "name": name},
            "minReplicas": 1,
            "maxReplicas": most,
            "metrics": [
                {"type": "External", "external": {"metric": metric, "target": {"type": "AverageValue",
                                                                              "averageValue": "1"}}},
            ],
            "behavior": behavior,
        },
    }  # fmt: skip


async def serve_metrics_from(site: Site, port: int) -> None:
    """Let the API server take external.metrics.k8s.io from a port of this machine, and wait until it does."""
    where = {"name": "external-metrics", "namespace": site.namespace}
    outside = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    await site.apply({"apiVersion": "v1", "kind": "Service", "metadata": where, "spec": outside})
    await site.apply({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
        "spec": {"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100,
                 "versionPriority": 100, "insecureSkipTLSVerify": True, "service": {**where, "port": port}},
    })  # fmt: skip

    async def served() -> bool:
        try:
            await site.api.get("/apis/external.metrics.k8s.io/v1beta1")
        except AnswerError:
            return False
        return True

    await site.until(served, "the API server serves the metric", 60)


async def hpa_says(site: Site, kind: str, name: str = "builds") -> tuple[str, str]:
    """Status and message of one of its conditions."""
    status = (await site.api.get(HPAS.format(site.namespace, name))).get("status") or {}
    found: Json = next((each for each in status.get("conditions") or () if each["type"] == kind), {})
    return found.get("status", ""), found.get("message", "")
