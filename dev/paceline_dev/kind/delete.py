"""`cluster-delete`: the cluster goes, and with the last one the engine and everything that it had but the caches."""

import os

from paceline_dev.cache import locked
from paceline_dev.errors import DevError
from paceline_dev.kind import local_engine
from paceline_dev.kind import record as records
from paceline_dev.kind.engine import Engine, on_local, users_engine
from paceline_dev.kind.namespace import Namespace
from paceline_dev.kind.packages import packages_folder
from paceline_dev.kind.places import Places, places
from paceline_dev.kind.programs import find_kind
from paceline_dev.kind.sweep import cgroup_folders
from paceline_dev.progress import Reporter


def delete_cluster(name: str, report: Reporter) -> None:
    """Remove a cluster; it is no error if there is none."""
    records.check_name(name)
    here = places()
    with locked(here.lock, report.line):
        known = records.read(here, name)
        if known is not None and not known.local:
            _delete_on_docker(name, report)
        if remains(here):
            _delete_local(name, here, report)
        elif known is None:
            report.line(f"there is no cluster {name}")
        records.forget(here, name)


def remains(here: Places) -> bool:
    """Whether there is anything of a local engine, running or not."""
    folders = here.run.exists() or here.data.exists()
    return folders or Namespace.of(here).exists() or bool(cgroup_folders(here.cgroup))


def _delete_on_docker(name: str, report: Reporter) -> None:
    found = users_engine(find_kind(report))
    if not isinstance(found, Engine):
        raise DevError(f"cluster {name} is on the machine's Docker, and {found}: start Docker and run this again")
    with report.task(f"deleting cluster {name}"):
        found.kind("delete", "cluster", "--name", name)


def _delete_local(name: str, here: Places, report: Reporter) -> None:
    """With the last cluster goes the engine, whether it answers or is what a killed one left."""
    if os.geteuid() != 0:
        raise DevError("the local engine is root's: run this as root")
    packages = packages_folder(here)
    others: list[str] = []
    if local_engine.answers(here, packages):
        engine = on_local(here, packages, find_kind(report))
        clusters = engine.kind("get", "clusters").stdout.split()
        others = [cluster for cluster in clusters if cluster in records.names(here) and cluster != name]
        if name in clusters:
            with report.task(f"deleting cluster {name}"):
                engine.kind("delete", "cluster", "--name", name, "--kubeconfig", str(here.kubeconfig(name)))
    if others:
        report.line(f"the engine stays for {', '.join(others)}")
        return
    with report.task("removing the engine and its network"):
        local_engine.stop(here)
    if remains(here):
        raise DevError(f"something of the engine could not be removed (look at {here.run}): run this again")
