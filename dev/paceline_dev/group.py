"""A RunnerGroup for demos, benches and stories."""

from collections.abc import Mapping

from paceline_dev.node.wire import Json

NOTHING: Mapping[str, object] = {}


def runner_group(
    namespace: str, name: str, replicas: int, image: str, spec: Mapping[str, object], *,
    container: Mapping[str, object] = NOTHING, pod: Mapping[str, object] = NOTHING,
) -> Json:  # fmt: skip
    """One whose database is in the Secret `db`; `spec` adds to it, `container` and `pod` to its template."""
    runner = {"name": "runner", "image": image, "imagePullPolicy": "IfNotPresent", **container}
    return {
        "apiVersion": "paceline.dev/v1alpha1",
        "kind": "RunnerGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "database": {"secretRef": {"name": "db"}},
            "template": {"spec": {"containers": [runner], **pod}},
            **spec,
        },
    }
