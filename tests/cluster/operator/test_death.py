"""Runners that die: their jobs are claimable at once, the attempts know why, and another pod takes their place."""

import asyncio
import time

import httpx
import pytest

from cluster.operator.gateways import Gateways
from cluster.operator.site import Site, shop
from paceline.job import JobId
from paceline.reading import Reader
from paceline.tokens import Tokens
from paceline_dev.node.images import Image

pytestmark = pytest.mark.timeout(300)


async def _busy(site: Site) -> tuple[JobId, str]:
    """A job that runs, and the pod it runs in."""
    made = await site.queue.enqueue("wait", "go")
    await site.until(lambda: site.marked("begun"), "the job has begun")
    holder = next(each for each in await site.registrations() if each.held)
    return made.id, str(holder.hostname)


async def _shown(site: Site, pod: str) -> None:
    """Until the API server shows that its container has died."""

    async def is_so() -> bool:
        found = await site.api.get(f"/api/v1/namespaces/{site.namespace}/pods/{pod}")
        return bool(found["status"]["containerStatuses"][0]["state"].get("terminated"))

    await site.until(is_so, "the API server shows the death")


async def _ready_again(site: Site, job: JobId) -> None:
    async def is_so() -> bool:
        return bool(await site.queue.database.value("SELECT losses > 0 FROM paceline.job WHERE id = $1", job))

    await site.until(is_so, "the job is claimable again")


async def test_a_pod_that_is_killed_for_its_memory_gives_its_job_back_long_before_its_lease_ends(
    operated: Site,
) -> None:
    site = operated
    site.node.add_image("shop", _lease(site, "120"))
    await site.apply(site.group(1))
    await site.settled(1)
    job, pod = await _busy(site)
    site.node.oom_kill(site.namespace, pod)

    await _shown(site, pod)
    began = time.monotonic()
    await _ready_again(site, job)
    assert time.monotonic() - began < 60  # half of the lease; how soon it is, the bench tells
    site.touch("go")
    await site.settled(1)
    attempts = await Reader(site.queue.database).job_attempts(job)
    assert "OOMKilled" in [each.cause for each in attempts]
    await site.counts(
        'paceline_jobs_interrupted_total{cause="OOMKilled"} 1.0',
        f'paceline_pods_failed_total{{group="builds",namespace="{site.namespace}"}} 1.0',
    )
    await site.tells("RunnerLost", "OOMKilled")


async def test_whoever_waits_for_a_job_is_told_that_its_pod_has_died_long_before_its_lease_ends(
    operated: Site, gateway: Gateways
) -> None:
    site = operated
    site.node.add_image("shop", _lease(site, "120"))
    await site.apply(site.group(1))
    await site.settled(1)
    caller = {"authorization": f"Bearer {await Tokens(site.queue.database).create('pk', pool='builds')}"}
    async with httpx.AsyncClient(base_url=gateway.url, headers=caller, timeout=300) as client:
        asked = {"kind": "wait", "payload": "go", "timeout_seconds": 290}
        call = asyncio.create_task(client.post("/v1/call", json=asked))
        await site.until(lambda: site.marked("begun"), "the job has begun")
        holder = next(each for each in await site.registrations() if each.held)
        site.node.oom_kill(site.namespace, str(holder.hostname))
        await _shown(site, str(holder.hostname))
        async with asyncio.timeout(60):  # the lease is 120 s; a second is what the bench of the operator wants
            answer = await call
    assert (answer.status_code, answer.json()["error"]) == (502, "runner_failed")
    assert answer.json()["detail"] == f"Runner {holder.runner} disconnected mid-job"


async def test_a_pod_that_was_evicted_for_its_nodes_memory_gives_its_job_back_and_is_replaced(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    job, pod = await _busy(site)
    site.node.evict(site.namespace, pod)

    async def back() -> bool:
        attempts = await Reader(site.queue.database).job_attempts(job)
        return bool(attempts) and (attempts[0].outcome == "handed_back" or attempts[0].cause == "Evicted")

    await site.until(back, "the job went back in the second that was left, or when that was too short")
    site.touch("go")

    async def gone() -> bool:
        return pod not in await site.pod_names()

    await site.until(gone, "the pod has been replaced")
    await site.settled(1)


async def test_a_pod_whose_object_is_gone_is_dead(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    job, pod = await _busy(site)
    await site.api.delete(f"/api/v1/namespaces/{site.namespace}/pods/{pod}", {"gracePeriodSeconds": 0})
    await _ready_again(site, job)
    assert "PodGone" in [each.cause for each in await Reader(site.queue.database).job_attempts(job)]
    site.touch("go")
    await site.settled(1)


async def test_a_pod_that_lost_its_label_is_not_dead_and_gets_it_back(operated: Site) -> None:
    site = operated
    await site.apply(site.group(1))
    await site.settled(1)
    job, pod = await _busy(site)
    await site.run("label", "pod", pod, "paceline.dev/group-", "paceline.dev/runner-")

    async def labelled() -> bool:
        return pod in await site.run("get", "pods", "-l", "paceline.dev/group=builds,paceline.dev/runner", "-o", "name")

    await site.until(labelled, "the label is there again")
    assert await site.queue.database.value("SELECT state FROM paceline.job WHERE id = $1", job) == b"x"
    assert await site.pod_names() == {pod}
    site.touch("go")


async def test_a_template_that_cannot_start_says_so_and_makes_no_storm(operated: Site) -> None:
    site = operated
    broken = site.group(4)
    broken["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "echo no config >&2; exit 3"]
    broken["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError"
    await site.apply(broken)
    told = await site.says("Progressing", "RunnersFailing")
    assert "exit code 3" in told["message"]
    assert "no config" in told["message"]
    boots = [int(each["metadata"]["name"].rpartition("-")[2]) for each in await site.pods()]
    await asyncio.sleep(5)
    later = [int(each["metadata"]["name"].rpartition("-")[2]) for each in await site.pods()]
    assert sum(later) - sum(boots) <= 4, "at most one at a time, after 1, 2, 4 seconds"
    assert len(await site.runners()) <= 4
    status = await site.status()
    assert status["readyReplicas"] == 0
    await site.apply(site.group(4))
    await site.settled(4)


async def test_an_image_that_is_not_there_is_told_in_the_kubelets_words(operated: Site) -> None:
    site = operated
    await site.apply(site.group(2, image="no-such-image:1"))
    told = await site.says("Progressing", "CannotStart")
    assert "no-such-image:1" in told["message"]
    assert len(await site.pods()) == 2


async def test_a_pod_that_does_not_register_in_time_is_given_up(operated: Site) -> None:
    site = operated
    slow = site.group(1, startupTimeoutSeconds=3)
    slow["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "600"]
    await site.apply(slow)
    await site.until(lambda: _boot(site, 2), "another pod is tried")


async def _boot(site: Site, number: int) -> bool:
    return any(each["metadata"]["name"].endswith(f"-{number}") for each in await site.pods())


async def test_a_node_that_does_not_answer_kills_nobody_and_is_the_cause_when_the_lease_ends(site: Site) -> None:
    site.node.add_image("shop", _lease(site, "6.5"))
    site.start_operator()
    await site.apply(site.group(1))
    await site.settled(1)
    job, _ = await _busy(site)
    site.node.go_not_ready()

    async def suspected() -> bool:
        return bool(
            await site.queue.database.value("SELECT suspect = 'NodeLost' FROM paceline.incarnation WHERE state <> 'z'")
        )

    await site.until(suspected, "the operator has heard of the node")
    assert await site.queue.database.value("SELECT state FROM paceline.job WHERE id = $1", job) == b"x"
    site.node.lose_pods()
    await _ready_again(site, job)
    assert "NodeLost" in [each.cause for each in await Reader(site.queue.database).job_attempts(job)]


def _lease(site: Site, seconds: str) -> Image:
    """The image of the pods, with a lease of so many seconds."""
    return shop(site.scratch, PACELINE_HEARTBEAT_INTERVAL_SECS="0.5", PACELINE_STALE_THRESHOLD_SECS=seconds)
