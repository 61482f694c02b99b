"""The programs that render what users install."""

import os
from pathlib import Path

import pytest

from paceline_dev.binaries import find_kubectl
from paceline_dev.helm.program import Helm, find_helm
from paceline_dev.kubectl import Kubectl
from paceline_dev.progress import stderr_reporter


@pytest.fixture(scope="session")
def helm() -> Helm:
    """The real one, with no cluster."""
    return Helm(find_helm(stderr_reporter()))


@pytest.fixture(scope="session")
def kubectl() -> Kubectl:
    """For `kubectl kustomize`, with no cluster."""
    return Kubectl(find_kubectl(stderr_reporter()), Path(os.devnull))
