"""The page on chaos: every fault as it is done, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

from chaos.faults import ABOUT, Fault
from paceline_dev import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "chaos.md"
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_is_there_as_it_is_done(fault: Fault) -> None:
    assert f"| `{fault}` | {ABOUT[fault].how} |\n" in PAGE.read_text()


def test_every_link_leads_somewhere() -> None:
    found = LINK.findall(PAGE.read_text())
    assert found
    for link in found:
        assert Path(PAGE.parent, link).exists(), link
