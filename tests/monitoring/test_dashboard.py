"""The dashboard is one that Grafana can draw: every panel has a place and a source of its own."""

import itertools
import json
import re
from typing import Any

from support.watching import MONITORING

BOARD: dict[str, Any] = json.loads((MONITORING / "grafana" / "paceline.json").read_text())
PANELS: list[dict[str, Any]] = BOARD["panels"]


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in (("x", "w"), ("y", "h"))
    )


def test_no_panel_hides_another() -> None:
    for one, other in itertools.combinations(PANELS, 2):
        assert one["id"] != other["id"]
        assert not overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])


def test_every_panel_asks_the_prometheus_that_was_chosen_and_fits_the_page() -> None:
    for panel in PANELS:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24, panel["title"]
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
            assert panel["targets"], panel["title"]
            assert len({each["refId"] for each in panel["targets"]}) == len(panel["targets"])


def test_every_variable_that_a_panel_names_can_be_chosen() -> None:
    there = {f"${each['name']}" for each in BOARD["templating"]["list"]} | {"$__rate_interval"}
    for panel in PANELS:
        for target in panel.get("targets", ()):
            assert set(re.findall(r"\$\w+", target["expr"])) <= there, panel["title"]
