"""Stories of pods with several containers: who starts after whom, and who ends before whom."""

from datetime import datetime

import pytest

from cluster.place import Json, Place, condition, container, eventually, over, ready, state

pytestmark = pytest.mark.timeout(300)


def times(log: str) -> dict[str, datetime]:
    """When each line was written."""
    found = (line.split(" ", 1) for line in log.splitlines())
    return {text: datetime.fromisoformat(at[:26] + "+00:00") for at, text in found}


def sidecar(place: Place, name: str, **fields: object) -> Json:
    """Says when it begins and when it is told to end."""
    script = f"trap 'echo {name} ends; exit 0' TERM; echo {name} begins; while :; do sleep 0.05; done"
    return place.shell(script, name, restartPolicy="Always", **fields)


async def test_init_containers_run_one_after_the_other_and_before_the_main_ones(place: Place) -> None:
    steps = [place.shell("echo one", "one"), place.shell("echo two", "two")]
    await place.create(place.pod(place.shell("echo main"), initContainers=steps))
    status = await place.until(over, "it is over")
    moments = [times(await place.log(each, timestamps="true")) for each in ("one", "two", "main")]
    assert moments[0]["one"] <= moments[1]["two"] <= moments[2]["main"]
    assert [each["ready"] for each in status["initContainerStatuses"]] == [True, True]


async def test_a_pod_is_not_initialised_while_an_init_container_runs(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 0"), initContainers=[place.shell("sleep 60", "step")]))
    status = await place.until(lambda s: state(s, "running", "step"), "the step runs")
    assert status["phase"] == "Pending"
    assert state(status, "waiting")["reason"] == "PodInitializing"
    found = condition(status, "Initialized")
    assert (found["status"], found["reason"]) == ("False", "ContainersNotInitialized")
    assert found["message"] == "containers with incomplete status: [step]"


async def test_a_failed_init_container_fails_the_pod_and_nothing_else_starts(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 0"), initContainers=[place.shell("exit 2", "step")]))
    status = await place.until(over, "it is over")
    assert status["phase"] == "Failed"
    assert state(status, "terminated", "step")["exitCode"] == 2
    assert state(status, "waiting")["reason"] == "PodInitializing"


async def test_a_failed_init_container_is_tried_again_where_the_policy_says_so(place: Place) -> None:
    steps = [place.shell("exit 2", "step")]
    await place.create(place.pod(place.shell("exit 0"), restart="OnFailure", initContainers=steps))
    status = await place.until(lambda s: container(s, "step").get("restartCount", 0) >= 1, "it was restarted")
    assert status["phase"] == "Pending"


async def test_sidecars_begin_before_the_main_container_and_end_after_it_in_reverse(place: Place) -> None:
    main = place.shell("trap 'echo main ends; exit 0' TERM; echo main begins; while :; do sleep 0.05; done")
    pod = place.pod(main, initContainers=[sidecar(place, "first"), sidecar(place, "second")])
    pod["spec"]["terminationGracePeriodSeconds"] = 20
    await place.create(pod)
    status = await place.until(ready, "it is ready")
    assert [each["started"] for each in status["initContainerStatuses"]] == [True, True]
    names = ("first", "second", "main")

    async def have_begun() -> bool:
        return all([f"{each} begins" in await place.log(each) for each in names])

    await eventually(have_begun, "each has said that it begins", place.patience)
    begun = [times(await place.log(each, timestamps="true"))[f"{each} begins"] for each in names]
    assert begun == sorted(begun)
    last = await place.ended()
    ended = [state(last, "terminated", each)["finishedAt"] for each in ("main", "second", "first")]
    assert ended == sorted(ended)
    assert [state(last, "terminated", each)["exitCode"] for each in ("main", "second", "first")] == [0, 0, 0]


async def test_a_sidecar_does_not_keep_a_pod_from_succeeding(place: Place) -> None:
    helper = sidecar(place, "helper")
    await place.create(place.pod(place.shell("sleep 5"), initContainers=[helper], terminationGracePeriodSeconds=20))
    status = await place.until(over, "it is over")
    assert status["phase"] == "Succeeded"
    assert state(status, "terminated", "helper")["exitCode"] == 0
    assert await place.log("helper") == "helper begins\nhelper ends\n"


async def test_a_sidecar_that_ends_is_started_again(place: Place) -> None:
    helper = place.shell("sleep 0.2; exit 1", "helper", restartPolicy="Always")
    await place.create(place.pod(place.shell("sleep 60"), initContainers=[helper]))
    status = await place.until(lambda s: container(s, "helper").get("restartCount", 0) >= 1, "it was restarted")
    assert status["phase"] == "Running"
    assert state(status, "running")


async def test_a_pod_of_two_containers_succeeds_when_both_have(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 0", "a"), place.shell("sleep 8", "b")))
    seen = await place.until(lambda s: state(s, "terminated", "a") and state(s, "running", "b"), "one has ended")
    assert seen["phase"] == "Running"
    assert condition(seen, "Ready")["message"] == "containers with unready status: [a]"
    assert (await place.until(over, "it is over"))["phase"] == "Succeeded"


async def test_a_sidecar_ends_only_when_the_main_container_has(place: Place) -> None:
    slow = place.shell("trap 'sleep 2; exit 0' TERM; while :; do sleep 0.05; done")
    helper = sidecar(place, "helper")
    await place.create(place.pod(slow, initContainers=[helper], terminationGracePeriodSeconds=20))
    await place.until(ready, "it is ready")
    last = await place.ended()
    main, after = (datetime.fromisoformat(state(last, "terminated", each)["finishedAt"]) for each in ("main", "helper"))
    assert after >= main
