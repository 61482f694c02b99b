"""A laptop takes the jobs that are meant for it and no other, by the database and by a gateway."""

import asyncio
import signal
from asyncio.subprocess import Process

import pytest

from cluster.operator.gateways import Gateways
from cluster.operator.site import Site
from cluster.operator.test_laptop import is_there
from cluster.operator.test_taints import shown
from examples.cluster import apply, queue_of
from examples.conftest import OpenLaptop
from examples.laptop import Laptop, commands_of, told
from paceline.job import NewJob

pytestmark = pytest.mark.timeout(300)
KIND = "report.build"


@pytest.fixture
def reports(laptop: OpenLaptop, operated: Site) -> Laptop:
    made = laptop("laptop")
    made.variables = {"PACELINE_INSTALL": operated.install}
    return made


def words(reports: Laptop, site: Site, *begin: str) -> list[str]:
    """A command of the page, in the test's namespace."""
    found = told(reports.folder, *begin)
    return [site.namespace if word == "ci" else word.replace("ci/", f"{site.namespace}/") for word in found]


def job_of(reports: Laptop, month: str) -> NewJob:
    """The job that the page enqueues for one month; it waits for the answer, and we have to see who gives it."""
    command = next(each for each in commands_of(reports.folder) if f'["{month}"]' in each)
    tag, toleration = (command[command.index(name) + 1] for name in ("--tag", "--toleration"))
    return NewJob(kind=KIND, payload=[month], tags=(tag,), tolerations=(toleration,))


async def gets_its_own_jobs_only(site: Site, laptop: str, own: NewJob) -> None:
    """Jobs that say nothing never go to it, although it has free slots; its own go nowhere else."""
    queue = queue_of(site, "reports")
    others = await queue.enqueue_many([NewJob(kind=KIND, payload=["april"])] * 12)
    mine = await queue.enqueue_many([own] * 3)
    assert laptop not in await site.done_by(*others)
    assert set(await site.done_by(*mine)) == {laptop}


async def waits_for_it(site: Site, laptop: Process, own: NewJob) -> None:
    """When it has left, its jobs stay, though the cluster has nothing to do."""
    laptop.send_signal(signal.SIGTERM)
    async with asyncio.timeout(site.patience):
        assert await laptop.wait() == 0
    queue = queue_of(site, "reports")
    left = await queue.enqueue(own)
    await site.done_by(await queue.enqueue(KIND, ["april"]))
    assert (await site.job(left.id)).state == "ready"


async def test_a_laptop_with_a_login_gets_its_own_jobs_only(operated: Site, reports: Laptop) -> None:
    site = operated
    await apply(site, "laptop")
    await site.settled(1, "reports")
    laptop = await reports.serves(*words(reports, site, "paceline", "run", "--app", "jobs:jobs", "--group"))
    await site.until(lambda: is_there(site, "ann"), "it has an object")
    assert (await site.runner("ann"))["spec"]["external"] is True
    own = job_of(reports, "may")
    await gets_its_own_jobs_only(site, "ann", own)
    await waits_for_it(site, laptop, own)


async def test_a_laptop_with_a_token_gets_its_own_jobs_only(operated: Site, reports: Laptop, gateway: Gateways) -> None:
    site = operated
    await apply(site, "laptop")
    await site.settled(1, "reports")
    token = reports.scratch / "bob.token"
    token.write_text(await reports.does(*words(reports, site, "paceline", "token", "create")))
    run = words(reports, site, "paceline", "run", "--app", "jobs:jobs", "--gateway")
    changed = {"https://gateway.example.com": gateway.url, "bob.token": str(token)}
    reports.url, reports.variables = "", {}  # it knows nothing of the database
    laptop = await reports.serves(*(changed.get(word, word) for word in run))
    await site.until(lambda: is_there(site, "bob"), "it has an object")
    _, *taint = words(reports, site, "kubectl", "paceline", "taint")
    await reports.does(*taint, "--kubeconfig", str(site.kubeconfig))
    await shown(site, "bob", "dev=bob:NoClaim,dev=bob:NoLead")
    own = job_of(reports, "june")
    await gets_its_own_jobs_only(site, "bob", own)
    await waits_for_it(site, laptop, own)
