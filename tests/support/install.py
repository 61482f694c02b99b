"""Our install, as a user with a namespace of his own applies it."""

import os
from pathlib import Path

from paceline_dev import REPOSITORY


def overlay(folder: Path, name: str, namespace: str) -> str:
    """A user's own kustomization, that puts one of ours into his namespace; for `kubectl apply -k`."""
    ours = os.path.relpath(REPOSITORY / "manifests" / name, folder)
    (folder / "kustomization.yaml").write_text(f"resources: [{ours}]\nnamespace: {namespace}\n")
    return str(folder)
