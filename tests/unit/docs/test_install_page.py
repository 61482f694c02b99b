"""The install page names every way there is, and every sample."""

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
