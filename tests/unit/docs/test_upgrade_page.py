"""The page on upgrades: its commands are given by tests/cluster/upgrade; here is what they rest on."""

import re

import yaml

from paceline_dev import REPOSITORY

PAGE = (REPOSITORY / "docs" / "how-to" / "upgrade.md").read_text()
LABEL = "app.kubernetes.io/name"


def test_the_label_of_the_page_leaves_the_kinds_and_the_namespace() -> None:
    (label,) = set(re.findall(r" -l (\S+?)`?$", PAGE, re.MULTILINE)) | set(re.findall(r"-l ([\w./=-]+)`", PAGE))
    assert label == f"{LABEL}=paceline"
    made = [*yaml.safe_load_all((REPOSITORY / "manifests" / "install.yaml").read_text())]
    kept = {each["kind"] for each in made if each["metadata"].get("labels", {}).get(LABEL) != "paceline"}
    assert kept == {"CustomResourceDefinition", "Namespace"}
