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


def by(text: str, name: str, label: str) -> dict[str, float]:
    """All series of a name, by what one of their labels says."""
    found: dict[str, float] = {}
    for series, labels, value in LINE.findall(text):
        if series == name:
            what = dict(LABEL.findall(labels)).get(label, "")
            found[what] = found.get(what, 0.0) + float(value)
    return found


def _fits(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(re.fullmatch(pattern, labels.get(name, "")) for name, pattern in wanted.items())
