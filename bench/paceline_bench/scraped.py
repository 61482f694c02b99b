"""Counters as a program shows them to Prometheus."""

import re
from collections.abc import Mapping
from typing import Final

LINE: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


def total(text: str, name: str, wanted: Mapping[str, str] | None = None) -> float:
    """The sum over all series of a name whose labels match these patterns; 0 where there is none."""
    return sum(
        float(value)
        for found, labels, value in LINE.findall(text)
        if found == name and _fits(dict(LABEL.findall(labels)), wanted or {})
    )


def _fits(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(re.fullmatch(pattern, labels.get(name, "")) for name, pattern in wanted.items())
