"""The gateway's page names everything that programs may rely on."""

import inspect
import re
from typing import get_args

from paceline_cli.gateway import gateway
from paceline_dev import REPOSITORY
from paceline_gateway import metrics

PAGE = (REPOSITORY / "docs/reference/gateway.md").read_text()
METRICS = (REPOSITORY / "docs/reference/metrics.md").read_text()
HOUSE = REPOSITORY / "gateway/paceline_gateway"


def test_every_label_that_has_words_of_its_own_is_there() -> None:
    failures, writes = get_args(metrics.Failure), get_args(metrics.Write)
    assert len(failures) + len(writes) >= 9
    assert [word for word in failures if f"`{word}`" not in PAGE] == []
    assert [word for word in writes if word not in METRICS] == []


def test_every_option_is_there() -> None:
    options = ["--" + name.replace("_", "-") for name in inspect.signature(gateway).parameters]
    assert [option for option in options if f"`{option}`" not in PAGE] == []


def test_every_error_of_the_door_is_there() -> None:
    said = [
        word
        for name in ("door", "auth", "identity", "limits", "cluster", "groups", "services")
        for word in re.findall(r'Problem\(\s*\d{3}, "(\w+)"', (HOUSE / f"{name}.py").read_text())
        if word != "internal"
    ]
    assert len(said) >= 12
    assert [word for word in said if f"`{word}`" not in PAGE] == []
