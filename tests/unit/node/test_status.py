"""A status has the kubelet's words, and leaves alone what is not the node's."""

from paceline_dev.node.state import NOT_LOCATED, Verdict, Waiting
from paceline_dev.node.status import status_of
from paceline_dev.node.wire import stamp
from unit.node.objects import CREATING, EARLIER, INITIALIZING, NOW, RUNNING, Json, ended, pod, shown, view


def conditions(status: Json) -> dict[str, tuple[str, str | None, str | None]]:
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in status["conditions"]}


def test_a_pod_that_waits() -> None:
    status = status_of(shown(pod(), CREATING), {}, NOW)
    words = "containers with unready status: [main]"
    assert conditions(status) == {
        "PodReadyToStartContainers": ("True", None, None),
        "Initialized": ("True", None, None),
        "Ready": ("False", "ContainersNotReady", words),
        "ContainersReady": ("False", "ContainersNotReady", words),
    }
    assert status["containerStatuses"] == [
        {
            "name": "main", "image": "debian", "imageID": "", "state": {"waiting": {"reason": "ContainerCreating"}},
            "lastState": {}, "ready": False, "restartCount": 0, "started": False,
        }
    ]  # fmt: skip
    assert (status["phase"], status["podIP"], status["hostIP"]) == ("Pending", "127.9.0.2", "127.9.0.1")


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    before = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(EARLIER)}]}
    times = {
        each["type"]: each["lastTransitionTime"] for each in status_of(shown(pod(), RUNNING), before, NOW)["conditions"]
    }
    assert times["Ready"] == stamp(EARLIER)
    assert times["ContainersReady"] == stamp(NOW)


def test_every_condition_says_which_generation_it_is_about() -> None:
    status = status_of(shown(pod(), RUNNING), {}, NOW)
    assert status["observedGeneration"] == 2
    assert {each["observedGeneration"] for each in status["conditions"]} == {2}


def test_a_reason_that_is_gone_is_taken_out() -> None:
    status = status_of(shown(pod(), RUNNING), {}, NOW)
    assert conditions(status)["Ready"] == ("True", None, None)
    assert (status["reason"], status["message"]) == (None, None)


def test_an_old_address_is_taken_out() -> None:
    before = {"podIPs": [{"ip": "127.8.0.2"}, {"ip": "127.9.0.2"}]}
    assert status_of(shown(pod(), RUNNING), before, NOW)["podIPs"] == [
        {"ip": "127.9.0.2"},
        {"$patch": "delete", "ip": "127.8.0.2"},
    ]


def test_the_scheduler_owns_its_condition() -> None:
    before = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    assert "PodScheduled" not in conditions(status_of(shown(pod(), RUNNING), before, NOW))


def test_a_pod_that_is_not_initialised() -> None:
    status = status_of(shown(pod(steps=("side", "s")), RUNNING, RUNNING, INITIALIZING), {}, NOW)
    found = conditions(status)["Initialized"]
    assert found == ("False", "ContainersNotInitialized", "containers with incomplete status: [s]")
    assert [each["name"] for each in status["initContainerStatuses"]] == ["side", "s"]


def test_a_sidecar_that_restarts_does_not_undo_the_initialisation() -> None:
    status = status_of(shown(pod(steps=("side",)), ended(1), RUNNING), {}, NOW)
    assert conditions(status)["Initialized"][0] == "True"
    assert conditions(status)["Ready"][2] == "containers with unready status: [side]"


def test_a_pod_that_is_over() -> None:
    done = conditions(status_of(shown(pod(), ended(0), terminal=True), {}, NOW))
    assert done["Initialized"] == ("True", "PodCompleted", None)
    assert done["Ready"] == ("False", "PodCompleted", None)
    assert done["PodReadyToStartContainers"][0] == "False"
    assert conditions(status_of(shown(pod(), ended(1), terminal=True), {}, NOW))["Ready"] == (
        "False",
        "PodFailed",
        None,
    )


def test_an_evicted_pod_is_a_target_of_disruption_once_it_is_over() -> None:
    verdict = Verdict("Evicted", "The node was low on resource: memory. ", disruption=True)
    going = status_of(shown(pod(), RUNNING, verdict=verdict), {}, NOW)
    assert (going["reason"], "DisruptionTarget" in conditions(going)) == (None, False)
    gone = status_of(shown(pod(), ended(143), terminal=True, verdict=verdict), {}, NOW)
    assert (gone["phase"], gone["reason"], gone["message"]) == ("Failed", "Evicted", verdict.message)
    assert conditions(gone)["DisruptionTarget"] == ("True", "TerminationByKubelet", verdict.message)


def test_containers_that_nobody_saw_end_are_unknown_when_the_pod_is_over() -> None:
    status = status_of(shown(pod(names=("a", "b")), Waiting("ImagePullBackOff"), ended(0), terminal=True), {}, NOW)
    end = status["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (137, "ContainerStatusUnknown", NOT_LOCATED)
    assert (end["startedAt"], end["finishedAt"]) == (None, None)
    assert status["phase"] == "Failed"


def test_main_containers_of_a_pod_that_was_never_initialised_stay_as_they_were() -> None:
    status = status_of(shown(pod(steps=("s", "t")), ended(1), INITIALIZING, INITIALIZING, terminal=True), {}, NOW)
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert status["initContainerStatuses"][1]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert status["phase"] == "Failed"


def test_what_a_container_was_before_is_kept() -> None:
    spec = pod("Always")
    again = view(spec, 0, ended(3)).waiting("CrashLoopBackOff", "back-off 10s").running(NOW, "local://y", 1)
    found = status_of(shown(spec, again), {}, NOW)["containerStatuses"][0]
    assert found["lastState"]["terminated"]["exitCode"] == 3
    assert (found["restartCount"], found["containerID"], found["ready"]) == (1, "local://y", True)
