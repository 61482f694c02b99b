"""The install page names every way there is, every sample, and nothing that is not there."""

import re

from paceline_dev import REPOSITORY

PAGE = (REPOSITORY / "docs" / "how-to" / "install.md").read_text()
MANIFESTS = REPOSITORY / "manifests"


def test_every_folder_that_can_be_applied_is_named() -> None:
    folders = {path.parent.name for path in MANIFESTS.glob("*/kustomization.yaml")} - {"base", "samples"}
    assert [name for name in sorted(folders) if f"| `manifests/{name}` |" not in PAGE] == []


def test_every_sample_is_named() -> None:
    files = {path.name for path in (MANIFESTS / "samples").glob("*.yaml")} - {"kustomization.yaml", "secret.yaml"}
    assert set(re.findall(r"^\| `([\w-]+\.yaml)` \|", PAGE, re.MULTILINE)) == files


def test_every_place_that_it_names_is_there() -> None:
    places = set(re.findall(r"(?<!/)\b(manifests/[\w./-]*[\w])", PAGE))
    assert len(places) > 10
    assert [place for place in sorted(places) if not (REPOSITORY / place).exists()] == []
