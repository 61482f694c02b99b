"""The image that end-to-end tests run in pods: one static program, packed without a base image or a registry."""

from pathlib import Path

from paceline_dev.binaries import built
from paceline_dev.cache import cache_root
from paceline_dev.gobuild import Module, Program, build_key
from paceline_dev.kind import archive
from paceline_dev.kind.cluster import Cluster
from paceline_dev.progress import Reporter

PROGRAMS = Path(__file__).parent / "programs"
PROBE = Program("probe", Module("probe", "", 0, PROGRAMS), "paceline.dev/e2e/probe")
IMAGE = "localhost/paceline-probe:e2e"


def load_probe(cluster: Cluster, folder: Path, report: Reporter) -> str:
    """Build it, load it into all nodes, and return the image's name."""
    program = built(cache_root() / "kind" / "e2e" / build_key(PROGRAMS), [PROBE], report) / PROBE.name
    packed = folder / "probe.tar"
    archive.write_archive(packed, [archive.Image(IMAGE, (archive.Program(program, "/probe"),), ("/probe",))])
    cluster.engine.docker("load", "--input", packed)
    cluster.load(IMAGE)
    return IMAGE
