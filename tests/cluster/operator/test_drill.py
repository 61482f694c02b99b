"""Cluster and database are gone; what is left is a backup and manifests. By the commands of docs/how-to/operate.md."""

import asyncio
import contextlib
import dataclasses
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from cluster.operator.site import PROGRAMS, Site, shop
from cluster.place import Json
from cluster.upgrade.conftest import InstalledSite, operator_image, trust
from paceline import NewJob
from paceline.database import Database
from paceline.job import JobId
from paceline.queue import Queue
from paceline.testing import PostgresServer, bundled
from paceline_dev import REPOSITORY
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import NODE_KUBECONFIG, ControlPlane
from paceline_dev.images.recipe import OPERATOR, default_tag
from paceline_dev.node.api import Api
from paceline_dev.node.node import LocalNode
from paceline_dev.node.node_object import NodeSpec
from paceline_dev.progress import stderr_reporter
from paceline_operator.handlers.settings import DEFAULT_INSTALL
from support.pg import logins

pytestmark = pytest.mark.timeout(400)
PAGE = (REPOSITORY / "docs" / "how-to" / "operate.md").read_text()
SIZE, WAITING = 2, 3


class Home(Site):
    """A namespace whose operator has the name that every install has."""

    @property
    def install(self) -> str:
        return DEFAULT_INSTALL


@dataclasses.dataclass
class Before:
    """Jobs as they stood when the backup was made."""

    done: JobId
    running: list[JobId]
    waiting: list[JobId]


async def by_the_page(heading: str, folder: Path, url: str, **env: str) -> None:
    """Give the commands of a section, as they stand there."""
    (section,) = re.findall(rf"^### {re.escape(heading)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    script = "\n".join(["set -e", *re.findall(r"^\$ (.*)$", section, re.MULTILINE)])
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PACELINE_DATABASE_URL": url, **env},
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()


def paths(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


def elsewhere(url: str, server: PostgresServer) -> str:
    """The same login, for the new database of another server."""
    login, there = urlsplit(url).netloc.rpartition("@")[0], urlsplit(server.url)
    return urlunsplit(there._replace(netloc=f"{login}@{there.hostname}:{there.port}", path="/app"))


def manifests(namespace: str, group: Json, urls: Mapping[str, str]) -> str:
    """What is in Git, and the Secrets."""
    secrets = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
         "stringData": {"url": url}}
        for name, url in urls.items()
    ]  # fmt: skip
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [space, *secrets, group]})


async def lived(home: Home, group: Json) -> Before:
    """A group at work: one job is done, each runner has one, and some wait."""
    home.start_operator()
    await home.apply(group)
    await home.settled(SIZE)
    queue = home.queue
    done = (await queue.enqueue("count")).id
    await home.finished(done)
    running = [(await queue.enqueue("wait", "go")).id for _ in range(SIZE)]
    for job in running:
        await home.running(job)
    waiting = [each.id for each in await queue.enqueue_many([NewJob(kind="count")] * WAITING)]
    return Before(done, running, waiting)


def ready(scratch: Path) -> Path:
    """Where handlers find what the jobs wait for."""
    scratch.mkdir()
    (scratch / "go").touch()
    return scratch


async def lose(home: Home) -> None:
    """The cluster, with all that runs in it."""
    home.processes[-1].send_signal(signal.SIGKILL)
    await home.api.delete(f"/api/v1/namespaces/{home.namespace}/pods", {"gracePeriodSeconds": 0})

    async def nobody_is_left() -> bool:
        return not await home.pods()

    await home.until(nobody_is_left, "all pods are gone")


@contextlib.asynccontextmanager
async def fresh(home: Home, scratch: Path) -> AsyncIterator[tuple[ControlPlane, Api, LocalNode]]:
    """A new cluster without anything."""
    access = scratch / "operator.kubeconfig"
    images = {"shop": shop(scratch), f"{OPERATOR.name}:{default_tag()}": operator_image(access)}
    with ControlPlane.start(find_binaries(stderr_reporter())) as plane:
        async with (
            await Api.connect(plane.kubeconfig) as api,
            LocalNode(plane.folder / NODE_KUBECONFIG, NodeSpec(home.node.name, cpu="100", memory="100Gi"),
                      images=images, renew=1.0) as node,
        ):  # fmt: skip
            await trust(plane.kubectl, access)
            yield plane, api, node


async def test_groups_come_back_and_jobs_that_waited_or_ran_are_done(site: Site) -> None:
    home = Home(**{each.name: getattr(site, each.name) for each in dataclasses.fields(Site)})
    programs = bundled().folder
    new_scratch = ready(home.scratch / "new")
    async with logins(home.queue.database, home.url) as login_url:
        urls = {"db": await login_url("operator"), "runners": await login_url("runner", "builds")}
        for name, url in urls.items():
            await home.secret(name, url=url)
        group = home.group(SIZE, slots=1)
        group["spec"]["database"]["runnerSecretRef"] = {"name": "runners"}
        before = await lived(home, group)
        await by_the_page("The backup", home.scratch, home.url, PATH=paths(programs))
        await lose(home)
    (home.scratch / "manifests").symlink_to(REPOSITORY / "manifests")
    with PostgresServer.start() as server:
        async with await Database.open(server.url) as root:
            await root.value("CREATE DATABASE app")
        moved = {name: elsewhere(url, server) for name, url in urls.items()}
        (home.scratch / "ours.yaml").write_text(manifests(home.namespace, group, moved))
        async with fresh(home, new_scratch) as (plane, api, node):
            url = elsewhere(home.url, server)
            await by_the_page(
                "The new ones", home.scratch, url, ADMIN_URL=server.url, KUBECONFIG=str(plane.kubeconfig),
                PATH=paths(programs, PROGRAMS, plane.kubectl.program.parent),
            )  # fmt: skip
            async with await Database.open(url) as database:
                queue = Queue(database, "builds")
                args = (api, plane.kubectl, plane.kubeconfig, home.namespace, node, queue, url, new_scratch)
                await found_again(InstalledSite(*args), before)


async def found_again(site: InstalledSite, before: Before) -> None:
    """All is as it was, but for those who were at work."""
    await site.settled(SIZE)
    for job in (*before.running, *before.waiting):
        await site.finished(job)
        assert [each.outcome for each in await site.attempts(job)] == (
            ["handed_back"] if job in before.running else []
        ), "nobody is charged for it"
        assert (await site.job(job)).losses == 0
    ran = sorted(int(line.split()[0]) for name in ("runs", "begun") for line in site.marked(name))
    assert ran == sorted([*before.running, *before.waiting]), "each once, and not what was done before"
    assert (await site.job(before.done)).state == "done"
    names = {each["metadata"]["name"] for each in await site.runners()}
    assert {each.runner for each in await site.registrations()} == names, "nobody is left of those who were"
    assert (await site.queue.enqueue("count")).id > max(before.waiting)
