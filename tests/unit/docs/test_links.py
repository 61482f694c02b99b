"""Every link of every page leads to something that is there, also behind its #."""

import re

from paceline_dev import REPOSITORY
from paceline_dev.site.markdown import anchors, links, prose
from unit.docs.pages import PAGES, text_of

TESTS = re.compile(r"`((?:tests|e2e)/[\w/]+\.(?:py|toml))(?:::(\w+))?`")
PLACES = re.compile(r"(?<![/\w.-])((?:manifests|sdk|operator|gateway|cli|dev|runner-image|bench)/[\w./-]*\w)")
ABSENT = frozenset({"bench/results/e2e.json", "operator/__init__.py"})
"""One is there only after a whole `make e2e`, the other must never be."""


def leads_somewhere(page: str, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = (REPOSITORY / page).parent / path if path else REPOSITORY / page
    return found.exists() and (not anchor or anchor in anchors(found.read_text()))


def test_every_link_leads_somewhere() -> None:
    inside = [(page, link.target) for page in PAGES for link in links(text_of(page)) if not link.outside]
    assert len(inside) > 300
    assert [f"{page}: {target}" for page, target in inside if not leads_somewhere(page, target)] == []


def test_every_test_that_is_named_is_there() -> None:
    named = [(page, *found) for page in PAGES for found in TESTS.findall(text_of(page))]
    assert len(named) > 50
    for page, path, test in named:
        assert (REPOSITORY / path).is_file(), f"{page}: {path}"
        assert not test or f"def {test}(" in (REPOSITORY / path).read_text(), f"{page}: {path}::{test}"


def test_every_place_of_the_repository_that_is_named_is_there() -> None:
    pages = [page for page in PAGES if page != "CHANGELOG.md"]
    named = {(page, place) for page in pages for place in PLACES.findall(prose(text_of(page)))}
    assert len(named) > 70
    assert [each for each in sorted(named) if not (REPOSITORY / each[1]).exists() and each[1] not in ABSENT] == []
