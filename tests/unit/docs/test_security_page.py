"""Every claim of SECURITY.md names a test that is there."""

import re

from paceline_dev import REPOSITORY
from paceline_operator.api.v1alpha1 import SecretReference

PAGES = {name: (REPOSITORY / name).read_text() for name in ("SECURITY.md", "docs/how-to/operate.md")}
NAMED = re.compile(r"`((?:tests|e2e)/[\w/]+\.py)(?:::(\w+))?`")


def test_every_test_that_is_named_is_there() -> None:
    for page, text in PAGES.items():
        named = NAMED.findall(text)
        assert len(named) >= 5, page
        for path, test in named:
            assert (REPOSITORY / path).is_file(), f"{page}: {path}"
            assert f"def {test}(" in (REPOSITORY / path).read_text() or not test, f"{page}: {path}::{test}"


def test_every_line_of_the_tables_names_one() -> None:
    """But those of versions, and those that say what is meant to be possible."""
    for line in PAGES["SECURITY.md"].partition("## Who could do what")[2].partition("## Secrets")[0].splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| can", "| cannot")):
            assert NAMED.search(line), line


def test_every_link_leads_somewhere() -> None:
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert ((REPOSITORY / page).parent / target).exists(), f"{page}: {target}"


def test_a_secret_of_another_namespace_cannot_be_named() -> None:
    assert set(SecretReference.model_fields) == {"name"}
