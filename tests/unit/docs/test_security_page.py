"""Every claim of SECURITY.md names a test. Whether it is there: test_links."""

from paceline_dev import REPOSITORY
from paceline_operator.api.v1alpha1 import SecretReference
from unit.docs.test_links import TESTS

PAGES = {name: (REPOSITORY / name).read_text() for name in ("SECURITY.md", "docs/how-to/operate.md")}


def test_enough_tests_are_named() -> None:
    assert [page for page, text in PAGES.items() if len(TESTS.findall(text)) < 5] == []


def test_every_line_of_the_tables_names_one() -> None:
    """But those of versions, and those that say what is meant to be possible."""
    for line in PAGES["SECURITY.md"].partition("## Who could do what")[2].partition("## Secrets")[0].splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| can", "| cannot")):
            assert TESTS.search(line), line


def test_a_secret_of_another_namespace_cannot_be_named() -> None:
    assert set(SecretReference.model_fields) == {"name"}
