"""Whoever is woken at three in the morning finds a page with all its parts. Its commands and links: tests/unit/docs."""

import re

import pytest

from paceline_dev import REPOSITORY
from support.watching import RUNBOOKS, alerts

HOW_TO = REPOSITORY / "docs" / "how-to" / "monitoring.md"
HEADINGS = ["What it means", "See for yourself", "Likely causes", "What to do", "When it is over"]


@pytest.mark.parametrize("alert", alerts())
def test_a_page_has_all_its_parts(alert: str) -> None:
    page = (RUNBOOKS / f"{alert}.md").read_text()
    assert page.startswith(f"# {alert}\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS
    assert re.search(r"^\$ ", page, re.MULTILINE), "nothing to type"


def test_the_how_to_leads_to_every_page() -> None:
    text = HOW_TO.read_text()
    assert [alert for alert in alerts() if f"[{alert}](../runbooks/{alert}.md)" not in text] == []
