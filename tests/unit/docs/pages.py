"""Every page that people read, for the tests that look at all of them."""

from collections.abc import Iterator

from paceline_dev import REPOSITORY
from paceline_dev.site.markdown import Block, blocks

FOLDERS = ("docs", "runner-image/examples", "bench/results")
AT_THE_ROOT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = (
    *AT_THE_ROOT,
    *(
        path.relative_to(REPOSITORY).as_posix()
        for each in FOLDERS
        for path in sorted((REPOSITORY / each).rglob("*.md"))
    ),
)


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text()


def is_generated(page: str) -> bool:
    return text_of(page).startswith("<!-- Generated")


def all_blocks(*languages: str) -> Iterator[tuple[str, Block]]:
    """The blocks of these languages on pages that people write, each with where it stands: `page:line`."""
    for page in PAGES:
        if is_generated(page):
            continue
        for block in blocks(text_of(page)):
            if block.language in languages:
                yield f"{page}:{block.line}", block
