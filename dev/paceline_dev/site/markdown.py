"""What is in a page: links, headings and blocks of code."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
LINK: Final = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
HEADING: Final = re.compile(r"^#{1,6} +(?P<text>.+?) *#*$", re.MULTILINE)
ANCHOR: Final = re.compile(r"<a id=\"([\w-]+)\">")
SPAN: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
TOKEN: Final = re.compile(f"(?:{FENCE.pattern})|(?:{SPAN.pattern})|(?P<link>{LINK.pattern})", re.MULTILINE | re.DOTALL)
"""Whichever begins first: a link inside of code is none, code inside of a link is its text."""
NO_SLUG: Final = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, with the line on which it begins."""

    language: str
    code: str
    line: int
    indent: int


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link leads, as it is written; `text` is what is shown of it."""

    text: str
    target: str
    image: bool

    @property
    def outside(self) -> bool:
        """Whether it leads out of the repository."""
        return re.match(r"[a-z]+:", self.target) is not None

    def __str__(self) -> str:
        """As it is written."""
        return f"{'!' if self.image else ''}[{self.text}]({self.target})"


def blocks(text: str) -> Iterator[Block]:
    """All blocks of code, without the indentation of the list that they stand in."""
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        code = "\n".join(line[indent:] for line in match["code"].splitlines())
        yield Block(match["info"].partition(" ")[0], code, text[: match.start()].count("\n") + 1, indent)


def prose(text: str) -> str:
    """The page without its blocks, line for line."""
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def spans(text: str) -> Iterator[str]:
    """Code within sentences."""
    for match in SPAN.finditer(prose(text)):
        yield match[1]


def links(text: str) -> Iterator[Link]:
    """All links and images outside of code."""
    for match in TOKEN.finditer(text):
        if match["link"]:
            yield _link(match)


def rewrite(text: str, change: Callable[[Link], str]) -> str:
    """The page with every link changed; code is left as it is."""
    return TOKEN.sub(lambda match: change(_link(match)) if match["link"] else match[0], text)


def anchors(text: str) -> set[str]:
    """What can follow a `#` in a link to this page: headings, and anchors that were set by hand."""
    plain = prose(text)
    return {slug(match["text"]) for match in HEADING.finditer(plain)} | set(ANCHOR.findall(plain))


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it, and the site too."""
    shown = LINK.sub(lambda match: match["text"], heading)
    return NO_SLUG.sub("", shown.lower()).replace(" ", "-")


def _link(match: re.Match[str]) -> Link:
    return Link(match["text"], match["target"], bool(match["image"]))
