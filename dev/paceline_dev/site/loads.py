"""What a browser would load with the pages of the built site: only what is beside them."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError

SITE: Final = REPOSITORY / "build" / "site"
ELSEWHERE: Final = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLES: Final = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)
LOADED: Final = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src",
    "object": "data", "link": "href", "use": "href", "image": "href",
}  # fmt: skip
NOT_LOADED: Final = frozenset({"canonical", "next", "prev", "alternate", "author", "license", "help", "search"})
"""What a <link> says of its page, and no browser asks for."""
FETCHES: Final = frozenset({"mermaid", "giscus"})
"""Classes for which the theme's own script loads another from elsewhere."""


class Loads(HTMLParser):
    """Collects the addresses that a page loads."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.addresses: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        given = dict(attrs)
        self._in_style = tag == "style"
        if FETCHES & set((given.get("class") or "").split()):
            self.addresses.append(f"//{given['class']}")
        if tag == "link" and NOT_LOADED & set((given.get("rel") or "").split()):
            return
        self.addresses += [given.get(LOADED.get(tag, "")) or "", *_of_set(given.get("srcset"))]
        self.addresses += IN_STYLES.findall(given.get("style") or "")

    def handle_data(self, data: str) -> None:
        """Look into a style."""
        if self._in_style:
            self.addresses += IN_STYLES.findall(data)
            self._in_style = False


def fetched(site: Path) -> list[str]:
    """One line for each address elsewhere that a page or a style would load."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        raise DevError(f"{site} has no pages: run make docs")
    found = [f"{page}: loads {address}" for page in pages for address in loaded(page.read_text())]
    for style in sorted(site.rglob("*.css")):
        found += [f"{style}: loads {address}" for address in IN_STYLES.findall(style.read_text())]
    return found


def loaded(page: str) -> Iterator[str]:
    """The addresses elsewhere that a page loads."""
    loads = Loads()
    loads.feed(page)
    for address in loads.addresses:
        if ELSEWHERE.match(address):
            yield address


def _of_set(several: str | None) -> list[str]:
    return [each.split()[0] for each in (several or "").split(",") if each.strip()]
