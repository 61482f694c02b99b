"""The phase of a pod follows the kubelet's rules."""

import pytest

from paceline_dev.node.phase import Phase, phase_of
from paceline_dev.node.state import ContainerView, PodView, Verdict, Waiting
from unit.node.objects import CREATING, INITIALIZING, RUNNING, ended, pod, shown, view

BACK_OFF = Waiting("CrashLoopBackOff")
VERDICT = Verdict("Evicted", "low on memory")
TWO = ("a", "b")


def backing_off(restart: str, code: int) -> ContainerView:
    return view(pod(restart), 0, BACK_OFF, ended(code))


CASES: list[tuple[str, PodView, Phase]] = [
    ("nothing has started", shown(pod(), CREATING), Phase.PENDING),
    ("one of two has started", shown(pod(names=TWO), RUNNING, CREATING), Phase.PENDING),
    ("all run", shown(pod(names=TWO), RUNNING, RUNNING), Phase.RUNNING),
    ("one of two has ended", shown(pod(names=TWO), ended(0), RUNNING), Phase.RUNNING),
    ("all have ended well", shown(pod(names=TWO), ended(0), ended(0)), Phase.SUCCEEDED),
    ("one has ended badly", shown(pod(names=TWO), ended(0), ended(1)), Phase.FAILED),
    ("it is started again", shown(pod("Always"), ended(0)), Phase.RUNNING),
    ("it is started again after a failure", shown(pod("OnFailure"), ended(1)), Phase.RUNNING),
    ("it succeeded and is not started again", shown(pod("OnFailure"), ended(0)), Phase.SUCCEEDED),
    ("it backs off", shown(pod("Always"), backing_off("Always", 1)), Phase.RUNNING),
    ("a step runs", shown(pod(steps=("s",)), RUNNING, INITIALIZING), Phase.PENDING),
    ("a step has failed", shown(pod(steps=("s",)), ended(1), INITIALIZING), Phase.FAILED),
    ("a step has failed and is tried again", shown(pod("Always", steps=("s",)), ended(1), INITIALIZING), Phase.PENDING),
    (
        "a step has failed beside a sidecar",
        shown(pod(steps=("side", "s")), RUNNING, ended(1), INITIALIZING),
        Phase.PENDING,
    ),
    ("a sidecar runs on", shown(pod(steps=("side",)), RUNNING, ended(0)), Phase.RUNNING),
    ("a sidecar has ended too", shown(pod(steps=("side",)), ended(143), ended(0)), Phase.SUCCEEDED),
    ("a sidecar starts again", shown(pod(steps=("side",)), ended(1), RUNNING), Phase.RUNNING),
    ("deleted: it would be started again", shown(pod("Always"), ended(0), terminal=True), Phase.SUCCEEDED),
    ("deleted: it ended badly", shown(pod("Always"), ended(143), terminal=True), Phase.FAILED),
    ("evicted, and it still runs", shown(pod(), RUNNING, verdict=VERDICT), Phase.RUNNING),
    ("evicted", shown(pod(), ended(0), terminal=True, verdict=VERDICT), Phase.FAILED),
]


@pytest.mark.parametrize(("what", "seen", "phase"), CASES, ids=[case[0] for case in CASES])
def test_the_phase(what: str, seen: PodView, phase: Phase) -> None:
    assert phase_of(seen) is phase
