"""Stories of containers that are started again, or not."""

import pytest

from cluster.place import Place, container, over, ready, state

pytestmark = pytest.mark.timeout(300)


async def test_a_container_that_keeps_failing_is_backed_off_from(place: Place) -> None:
    await place.create(place.pod(place.shell("echo run; exit 7"), restart="Always"))
    status = await place.until(lambda s: state(s, "waiting").get("reason") == "CrashLoopBackOff", "it backs off")
    found = container(status)
    assert status["phase"] == "Running"
    assert found["restartCount"] >= 1
    assert found["lastState"]["terminated"]["exitCode"] == 7
    assert state(status, "waiting")["message"].startswith("back-off ")
    assert f" restarting failed container=main pod=story_{place.namespace}(" in state(status, "waiting")["message"]
    assert not found["ready"]


async def test_on_failure_restarts_what_failed_and_leaves_what_succeeded(place: Place) -> None:
    pod = place.pod(place.shell("exit 0", "good"), place.shell("exit 1", "bad"), restart="OnFailure")
    await place.create(pod)
    await place.until(lambda s: "exitCode" in state(s, "terminated", "good"), "the good one is over")
    status = await place.until(lambda s: container(s, "bad").get("restartCount", 0) >= 1, "the bad one was restarted")
    assert container(status, "good")["restartCount"] == 0
    assert state(status, "terminated", "good")["exitCode"] == 0
    assert status["phase"] == "Running"


async def test_always_restarts_what_succeeded_too(place: Place) -> None:
    await place.create(place.pod(place.shell("sleep 0.2"), restart="Always"))
    status = await place.until(lambda s: container(s).get("restartCount", 0) >= 1, "it was restarted")
    assert container(status)["lastState"]["terminated"]["reason"] == "Completed"


async def test_never_means_never(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 1")))
    status = await place.until(over, "it is over")
    assert container(status)["restartCount"] == 0


async def test_a_container_that_takes_too_much_memory_is_told_so(place: Place) -> None:
    glutton = "import os, time\nwhile not os.path.exists('/tmp/eat'): time.sleep(0.05)\nheld = b'x' * 2**30"
    await place.create(place.pod(place.python(glutton, resources={"limits": {"memory": "64Mi"}})))
    await place.until(ready, "it is ready")
    await place.run_out_of_memory("story")
    status = await place.until(over, "it is over")
    end = state(status, "terminated")
    assert (status["phase"], end["exitCode"], end["reason"]) == ("Failed", 137, "OOMKilled")


async def test_the_log_of_the_run_before_is_kept(place: Place) -> None:
    script = "import os, time; print('run', os.getpid()); time.sleep(0.3); raise SystemExit(1)"
    await place.create(place.pod(place.python(script), restart="Always"))
    await place.until(lambda s: container(s).get("restartCount", 0) >= 1, "it was restarted")
    before = await place.log(previous="true")
    assert before.startswith("run ")
