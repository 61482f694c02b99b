"""promtool, and our rules as it reads them."""

from pathlib import Path

import pytest
import yaml

from support.watching import fetched, rule_groups


@pytest.fixture(scope="session")
def prometheus() -> Path:
    """The folder with the real programs."""
    return fetched()


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules, in a folder of their own."""
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": rule_groups()}))
    return path
