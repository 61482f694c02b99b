"""The site has every page, its links lead to pages of it, and it loads nothing from elsewhere."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.site.lay_out import lay_out, on_site, site_places
from paceline_dev.site.loads import fetched, loaded
from paceline_dev.site.markdown import anchors, links


class Config(yaml.SafeLoader):
    """Reads mkdocs.yml; what MkDocs would call is only named there."""


Config.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
CONFIG: dict[str, Any] = yaml.load((REPOSITORY / "mkdocs.yml").read_text(), Config)  # noqa: S506 -- a safe one


def leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [leaf for each in inner for leaf in leaves(each)]


def test_every_page_is_in_the_navigation_and_nothing_else_is() -> None:
    pages = [place for place in site_places().values() if place.endswith(".md")]
    assert sorted(leaves(CONFIG["nav"])) == sorted(pages)


def test_every_link_of_the_site_leads_to_something_on_it(tmp_path: Path) -> None:
    for name in lay_out(tmp_path):
        page = tmp_path / name
        for link in links(page.read_text()):
            path, _, anchor = link.target.partition("#")
            target = page.parent / path if path else page
            assert link.outside or target.is_file(), f"{name}: {link.target}"
            assert link.outside or not anchor or anchor in anchors(target.read_text()), f"{name}: {link.target}"


PLACES = {"docs/a/one.md": "a/one.md", "docs/two.md": "two.md", "CHANGELOG.md": "project/changelog.md"}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[two](../two.md#part)", "[two](../two.md#part)"),
        ("[changes](../../CHANGELOG.md)", "[changes](../project/changelog.md)"),
        ("[the rules](../../Makefile)", "the rules (`Makefile`)"),
        ("[`Makefile`](../../Makefile)", "`Makefile`"),
        ("[here](#part), [there](https://example.com)", "[here](#part), [there](https://example.com)"),
        ("```\n[two](../two.md)\n[x](../../Makefile)\n```", "```\n[two](../two.md)\n[x](../../Makefile)\n```"),
    ],
)
def test_a_link_leads_where_its_target_is_on_the_site(written: str, shown: str) -> None:
    assert on_site(written, "docs/a/one.md", PLACES) == shown


def test_a_link_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(DevError, match=r"docs/a/one\.md: the link to \.\./three\.md leads nowhere"):
        on_site("[three](../three.md)", "docs/a/one.md", PLACES)


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example.com/x.js"></script>', '<img src="//example.com/x.png">',
        '<link rel="stylesheet" href="https://fonts.example.com/css">', '<link rel="preconnect" href="https://example.com">',
        '<img srcset="a.png 1x, https://example.com/b.png 2x">', '<div style="background: url(https://example.com/x)"></div>',
        '<style>@import "https://example.com/x.css";</style>', '<pre class="mermaid"><code>graph</code></pre>',
    ],
)  # fmt: skip
def test_what_a_page_would_load_from_elsewhere_is_found(page: str) -> None:
    assert list(loaded(page))


@pytest.mark.parametrize(
    "page",
    [
        '<a href="https://example.com">there</a>', '<script src="assets/x.js"></script>',
        '<img src="data:image/png;base64,x">',
        '<link rel="canonical" href="https://example.com/">', "<code>&lt;script src=https://example.com&gt;</code>",
    ],
)  # fmt: skip
def test_what_a_page_only_names_is_not(page: str) -> None:
    assert list(loaded(page)) == []


def test_a_style_is_looked_into_too_and_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    with pytest.raises(DevError, match="run make docs"):
        fetched(tmp_path)
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "site.css").write_text("@font-face { src: url(https://fonts.example.com/x.woff2) }")
    (line,) = fetched(tmp_path)
    assert line.endswith("site.css: loads https://fonts.example.com/x.woff2")
