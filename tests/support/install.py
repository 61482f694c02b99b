"""Our install, as a user with a namespace of his own applies it."""

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

from paceline_dev import REPOSITORY

PAGE = REPOSITORY / "docs" / "how-to" / "install.md"


def overlay(folder: Path, name: str, namespace: str, more: dict[str, Any] | None = None) -> str:
    """A user's own kustomization, that puts one of ours into his namespace; for `kubectl apply -k`."""
    ours = os.path.relpath(REPOSITORY / "manifests" / name, folder)
    around = {"resources": [ours], "namespace": namespace, **(more or {})}
    (folder / "kustomization.yaml").write_text(json.dumps(around))
    return str(folder)


def on_the_page(begin: str) -> str:
    """The kustomization of the install page that begins like that."""
    blocks: list[str] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(begin)]
    return found


def called(install: str) -> dict[str, Any]:
    """What the install page says for an operator of another name."""
    found: dict[str, Any] = yaml.safe_load(on_the_page("patches:\n").replace("east", install))
    return found
