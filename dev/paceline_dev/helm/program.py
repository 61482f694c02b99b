"""Builds helm from its Go module, and runs it so that nothing of the user's own Helm has a say."""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from paceline_dev import REPOSITORY
from paceline_dev.binaries import built
from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.gobuild import Module, Program, build_key
from paceline_dev.progress import Reporter

HELM_VERSION: Final = "v4.3.1"
PINS: Final = Path(__file__).parent / "pins"
"""Apart from the control plane's, whose key would change with them."""
HELM: Final = Program(
    "helm", Module("helm", f"helm.sh/helm/v4@{HELM_VERSION}", 700 * 2**20, PINS), "helm.sh/helm/v4/cmd/helm"
)
CHARTS: Final = REPOSITORY / "manifests" / "chart"
RELEASE: Final = "paceline"


def find_helm(report: Reporter) -> Path:
    """The program, built first if it is not in the cache (four minutes on two cores)."""
    return built(cache_root() / "helm" / f"{HELM_VERSION}-{build_key(PINS)}", [HELM], report) / HELM.name


@dataclass(frozen=True, slots=True)
class Helm:
    """One helm, bound to one cluster or to none."""

    program: Path
    kubeconfig: Path = Path(os.devnull)

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run it; a failure is an error with helm's own words, unless the caller wants to look at it."""
        with tempfile.TemporaryDirectory(prefix="paceline-helm-") as home:
            folders = {f"HELM_{name}_HOME": f"{home}/{name.lower()}" for name in ("CACHE", "CONFIG", "DATA")}
            kept = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")}
            done = subprocess.run(
                [self.program, *arguments], env={**kept, **folders, "KUBECONFIG": str(self.kubeconfig)},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        if check and done.returncode != 0:
            raise DevError(f"helm {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def template(self, chart: str, namespace: str, *options: str) -> list[dict[str, Any]]:
        """The objects that a chart of ours becomes, hooks among them."""
        said = self.run("template", RELEASE, str(CHARTS / chart), "--namespace", namespace, *options).stdout
        return [document for document in yaml.safe_load_all(said) if document]
