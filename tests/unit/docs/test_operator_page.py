"""The operator's page names every option."""

import inspect

from paceline_cli.operator import operator
from paceline_dev import REPOSITORY

PAGE = (REPOSITORY / "docs/reference/operator.md").read_text()


def test_every_option_is_there() -> None:
    options = ["--" + name.replace("_", "-") for name in inspect.signature(operator).parameters]
    assert [option for option in options if option.replace("--watch", "--no-watch") not in PAGE] == []
