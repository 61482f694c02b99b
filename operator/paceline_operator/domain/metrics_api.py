"""The documents of the API external.metrics.k8s.io, in which a HorizontalPodAutoscaler asks for demand."""

import re
from typing import Final

from paceline.errors import InvalidInputError
from paceline_operator.api.schema import JsonDict
from paceline_operator.domain.scaling.told import DemandTold

API: Final = "external.metrics.k8s.io/v1beta1"
METRIC: Final = "paceline-demand"
"""Runners that a group's queue wants."""
LABEL: Final = "group"
"""Its label that names the group; the namespace is the one of whoever asks."""

_SELECTOR: Final = re.compile(rf"{LABEL}\s*==?\s*([a-z0-9]([-a-z0-9.]*[a-z0-9])?)")
_REASONS: Final = {400: "BadRequest", 403: "Forbidden", 404: "NotFound", 503: "ServiceUnavailable"}


def describe_api() -> JsonDict:
    """What there is, for whoever discovers it."""
    metric: JsonDict = {
        "name": METRIC, "singularName": "", "namespaced": True, "kind": "ExternalMetricValueList", "verbs": ["get"],
    }  # fmt: skip
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API, "resources": [metric]}


def group_of(metric: str, selector: str) -> str:
    """The group whose demand is asked for."""
    if metric != METRIC:
        raise InvalidInputError(f'metric "{metric}" is unknown (use {METRIC})')
    found = _SELECTOR.fullmatch(selector.strip())
    if found is None:
        raise InvalidInputError(
            f'the selector "{selector}" of metric {METRIC} must name one group: matchLabels: {{{LABEL}: NAME}}'
        )
    return found[1]


def value_list(told: DemandTold) -> JsonDict:
    """One value: the runners that the queue wants, for a target of type AverageValue and value 1."""
    value: JsonDict = {
        "metricName": METRIC,
        "metricLabels": {LABEL: told.group},
        "timestamp": told.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "value": str(told.demand),
    }
    return {"kind": "ExternalMetricValueList", "apiVersion": API, "metadata": {}, "items": [value]}


def refusal(code: int, message: str) -> JsonDict:
    """Why there is no value; the HPA quotes it in its condition ScalingActive, and leaves the size alone."""
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": _REASONS[code], "code": code,
    }  # fmt: skip
