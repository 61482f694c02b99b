"""The operator's page names everything that programs may rely on."""

import inspect
import re

from paceline_cli.operator import operator
from paceline_dev import REPOSITORY
from paceline_operator.domain.reasons import Reason
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.tell import tell_outcome

PAGE = (REPOSITORY / "docs/reference/operator.md").read_text()


def test_every_reason_is_there() -> None:
    assert [reason.value for reason in Reason if f"`{reason}`" not in PAGE] == []


def test_every_metric_is_there_by_its_full_name() -> None:
    names = {family.name for family in Metrics().registry.collect()}
    assert len(names) >= 8
    missing = [name for name in names if not re.search(rf"`{name}(_total)?[`{{]", PAGE)]
    assert missing == []


def test_every_event_is_there() -> None:
    said = re.findall(r'"(?:Normal|Warning)", "(\w+)"', inspect.getsource(tell_outcome))
    assert len(said) >= 5
    assert [reason for reason in said if f"`{reason}`" not in PAGE] == []


def test_every_option_is_there() -> None:
    options = ["--" + name.replace("_", "-") for name in inspect.signature(operator).parameters]
    assert [option for option in options if option.replace("--watch", "--no-watch") not in PAGE] == []
