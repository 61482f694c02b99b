"""The kinds of the Prometheus operator, as far as we use them.

Its CRDs are thousands of lines that would have to be kept here and brought up to date; what we use of them has not
changed since their first version. A field that is not listed is refused: it is misspelt, or new and belongs here. What
is in the rules themselves is checked by promtool, in tests/monitoring.
"""

from typing import Any, Final

Schema = dict[str, Any]
TEXT: Final[Schema] = {"type": "string", "minLength": 1}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT, "minItems": 1}
NAMES: Final[Schema] = {"type": "object", "additionalProperties": TEXT, "minProperties": 1}
DURATION: Final[Schema] = {"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d|w)$"}


def _closed(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False,
    }  # fmt: skip


def _some(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


EXPRESSION: Final = _closed(("key", "operator"), key=TEXT, operator={"enum": ["In", "NotIn", "Exists"]}, values=TEXTS)
SELECTOR: Final = {**_closed(matchLabels=NAMES, matchExpressions=_some(EXPRESSION)), "minProperties": 1}
RELABELING: Final = _closed(("sourceLabels", "targetLabel"), sourceLabels=TEXTS, targetLabel=TEXT)
ENDPOINT: Final = _closed(
    ("port",), port=TEXT, interval=DURATION, honorLabels={"type": "boolean"}, relabelings=_some(RELABELING)
)
RULE: Final = _closed(
    ("alert", "expr", "labels", "annotations"), alert=TEXT, expr=TEXT, labels=NAMES, annotations=NAMES,
    **{"for": DURATION},
)  # fmt: skip
SPECS: Final[dict[str, Schema]] = {
    "ServiceMonitor": _closed(("selector", "endpoints"), selector=SELECTOR, endpoints=_some(ENDPOINT)),
    "PodMonitor": _closed(
        ("selector", "podMetricsEndpoints"), selector=SELECTOR, podMetricsEndpoints=_some(ENDPOINT),
        namespaceSelector=_closed(any={"type": "boolean"}, matchNames=TEXTS),
    ),
    "PrometheusRule": _closed(("groups",), groups=_some(_closed(("name", "rules"), name=TEXT, rules=_some(RULE)))),
}  # fmt: skip
API_VERSION: Final = "monitoring.coreos.com/v1"


def schemas() -> dict[str, Schema]:
    """The schema of each kind, by its version and name."""
    meta: Schema = {"type": "object", "required": ["name"]}
    return {
        f"{API_VERSION} {kind}": _closed(("metadata", "spec"), apiVersion=TEXT, kind=TEXT, metadata=meta, spec=spec)
        for kind, spec in SPECS.items()
    }
