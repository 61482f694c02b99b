"""What the pages tell somebody to type at three in the morning is there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from paceline_cli.main import app
from paceline_dev import REPOSITORY
from support.watching import RUNBOOKS, alerts

HOW_TO = REPOSITORY / "docs" / "how-to" / "monitoring.md"
HEADINGS = ["What it means", "See for yourself", "Likely causes", "What to do", "When it is over"]
PAGES = [*(RUNBOOKS / f"{alert}.md" for alert in alerts()), HOW_TO]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of our own commands on a page, after `paceline`."""
    for line in re.findall(r"^\$ (.+)$", page.read_text(), re.MULTILINE):
        words = shlex.split(line.partition(" | ")[0], comments=True)
        if words[:2] == ["kubectl", "paceline"]:
            yield words[2:]
        elif words[0] == "paceline":
            yield words[1:]


def names(options: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in options if word.startswith("-")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_is_one_with_these_options(page: Path) -> None:
    for words in commands(page):
        command, rest = get_command(app), list(words)
        while isinstance(command, TyperGroup):
            assert rest, words
            assert rest[0] in command.commands, f"there is no paceline {' '.join(words)}"
            command = command.commands[rest.pop(0)]
        there = {name for each in command.params if isinstance(each, TyperOption) for name in each.opts}
        assert names(rest) <= there, f"paceline {' '.join(words)}"


@pytest.mark.parametrize("alert", alerts())
def test_a_page_has_all_its_parts(alert: str) -> None:
    page = (RUNBOOKS / f"{alert}.md").read_text()
    assert page.startswith(f"# {alert}\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS
    assert re.search(r"^\$ ", page, re.MULTILINE), "nothing to type"


def test_the_how_to_leads_to_every_page() -> None:
    text = HOW_TO.read_text()
    assert [alert for alert in alerts() if f"[{alert}](../runbooks/{alert}.md)" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_lead_somewhere(page: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#]+)(#[\w-]+)?\)", page.read_text()):
        target = page.parent / link
        assert target.exists(), link
        if anchor:
            assert anchor[1:] in anchors(target), f"{link}{anchor}"


def anchors(page: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in found}
