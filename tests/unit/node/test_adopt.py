"""What a node makes of pods whose processes died with its predecessor."""

from paceline_dev.node.adopt import adopted_views
from paceline_dev.node.phase import Phase, phase_of
from paceline_dev.node.spec import Pod
from paceline_dev.node.state import NOT_LOCATED, USED_TO_RUN, PodView, Terminated, Waiting
from unit.node.objects import EARLIER, Json, pod

RUNS = {"running": {"startedAt": "2030-01-01T00:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": "2030-01-01T00:00:00Z", "finishedAt": None}}


def adopt(spec: Pod, **states: Json) -> PodView:
    """The pod as it is found, with the state of each container by its name."""
    old = {
        name: {"name": name, "restartCount": 2, "state": state, "containerID": "local://old"}
        for name, state in states.items()
    }
    init = [old[each.name] for each in spec.init if each.name in old]
    main = [old[each.name] for each in spec.main if each.name in old]
    views = adopted_views(spec, {"initContainerStatuses": init, "containerStatuses": main})
    return PodView(spec, *views, "127.9.0.2", "127.9.0.1", EARLIER)


def test_what_ran_and_may_not_run_again_is_lost() -> None:
    found = adopt(pod("Never"), main=RUNS)
    state, last = found.main[0].state, found.main[0].last
    assert isinstance(state, Terminated)
    assert last is not None
    assert (state.code, state.reason, state.message) == (137, "ContainerStatusUnknown", NOT_LOCATED)
    assert last.message == USED_TO_RUN
    assert found.main[0].done
    assert phase_of(found) is Phase.FAILED


def test_what_ran_and_may_run_again_is_started_once_more() -> None:
    found = adopt(pod("Always"), main=RUNS)
    view = found.main[0]
    assert isinstance(view.state, Waiting)
    assert view.last is not None
    assert (view.last.code, view.last.reason, view.restarts) == (137, "ContainerStatusUnknown", 3)
    assert phase_of(found) is Phase.RUNNING


def test_what_had_ended_stays_ended() -> None:
    view = adopt(pod("OnFailure"), main=DONE).main[0]
    assert view.done
    assert (view.restarts, view.container_id) == (2, "local://old")


def test_what_had_not_started_starts_as_if_nothing_had_been() -> None:
    view = adopt(pod("Never"), main={"waiting": {"reason": "ContainerCreating"}}).main[0]
    assert view.state == Waiting("ContainerCreating")
    assert view.last is None


def test_a_pod_that_starts_again_is_initialised_again() -> None:
    found = adopt(pod("Always", steps=("s",)), s=DONE, main=RUNS)
    assert isinstance(found.init[0].state, Waiting)
    assert found.init[0].restarts == 3
    assert phase_of(found) is Phase.RUNNING


def test_a_pod_that_is_done_is_not_initialised_again() -> None:
    assert adopt(pod("OnFailure", steps=("s",)), s=DONE, main=DONE).init[0].done


def test_a_pod_that_nobody_ran_yet_is_new() -> None:
    views = adopted_views(pod("Never"), {})
    assert views[1][0].restarts == 0
