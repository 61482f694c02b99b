"""A cluster with images of ours in it."""

from collections.abc import Sequence

from paceline_dev.images.build import build_images
from paceline_dev.images.recipe import OPERATOR, RUNNER, Recipe
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.engine import Engine
from paceline_dev.kind.ensure import ensure_cluster
from paceline_dev.progress import Reporter


def bring_up(engine: Engine, name: str, workers: int, handlers: Recipe, report: Reporter) -> Cluster:
    """Build the operator, and the runner with these handlers; make the cluster if need be, and load both."""
    images = build_images(engine, report, recipes=(OPERATOR, RUNNER, handlers))
    cluster = ensure_cluster(engine, name, workers, report)
    load(cluster, [each.reference for each in images if not each.reference.startswith(RUNNER.name)], report)
    return cluster


def load(cluster: Cluster, images: Sequence[str], report: Reporter) -> None:
    """Copy images to all nodes."""
    for image in images:
        with report.task(f"loading {image}"):
            cluster.load(image)
