"""First light: installed as the page says, a group runs a job on a real kubelet, and a pod that goes finishes first."""

import pytest

from e2e.inside.places import KindSite
from paceline import NewJob

pytestmark = pytest.mark.timeout(300)


async def test_a_group_runs_a_job(site: KindSite) -> None:
    await site.apply(site.group(1))
    await site.settled(1)
    made = await site.queue.enqueue("count", 7)
    await site.finished(made.id)
    job = await site.job(made.id)
    (runner,) = await site.runners()
    assert (job.state, job.runner, job.losses) == ("done", runner["metadata"]["name"], 0)
    (pod,) = await site.pods()
    assert pod["status"]["phase"] == "Running"
    assert pod["spec"]["containers"][0]["securityContext"]["runAsNonRoot"] is True


async def test_a_pod_that_is_deleted_in_the_middle_of_a_job_finishes_it_first(site: KindSite) -> None:
    await site.apply(site.group(1))
    await site.settled(1)
    made = await site.queue.enqueue(NewJob(kind="nap", payload=8))
    await site.running(made.id)
    (pod,) = await site.pod_names()
    await site.run("delete", "pod", pod, "--wait=false")
    await site.finished(made.id)
    job = await site.job(made.id)
    assert (job.state, job.losses) == ("done", 0), "the hook waited for it"
    assert await site.attempts(made.id) == [], "nothing but the one that succeeded"

    async def replaced() -> bool:
        return pod not in await site.pod_names()

    await site.until(replaced, "the pod has gone")
    await site.settled(1)
