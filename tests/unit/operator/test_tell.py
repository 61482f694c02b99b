"""What is told as a warning is what somebody should look at; all else is normal."""

from types import SimpleNamespace
from typing import cast

from paceline_operator.api.v1alpha1 import Leader, RunnerGroupStatus
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.handlers.services import Services
from paceline_operator.handlers.tell import tell_ignored, tell_status

GROUP = {"metadata": {"namespace": "ci", "name": "builds"}}


class Listener:
    """Remembers what was said."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    async def post(self, _about: object, type_: str, reason: str, _message: str, _action: str) -> None:
        self.heard.append((type_, reason))


async def test_replicas_that_are_ignored_are_a_warning_and_a_new_leader_is_not() -> None:
    listener = Listener()
    services = cast(Services, SimpleNamespace(events=listener, metrics=Metrics()))
    await tell_ignored(services, GROUP, 3)
    led = RunnerGroupStatus(leader=Leader(runner="builds-7xk2p", epoch=2))
    await tell_status(services, GROUP, RunnerGroupStatus(), led)
    assert listener.heard == [("Warning", "ReplicasIgnored"), ("Normal", "LeaderChanged")]
