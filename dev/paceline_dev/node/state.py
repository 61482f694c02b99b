"""What is known of a container and of a pod at one moment: the input of every status."""

import datetime
from dataclasses import dataclass, replace

from paceline_dev.node.spec import Container, Pod

UNKNOWN = "ContainerStatusUnknown"
KILLED = 137
NOT_LOCATED = "The container could not be located when the pod was terminated"
USED_TO_RUN = "The container could not be located when the pod was deleted.  The container used to be Running"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not started yet, or not again."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Started and not ended."""

    since: datetime.datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended; a container that was never found has no times."""

    code: int
    reason: str
    message: str = ""
    started: datetime.datetime | None = None
    finished: datetime.datetime | None = None
    container_id: str = ""


State = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One container at one moment."""

    spec: Container
    state: State
    last: Terminated | None = None
    restarts: int = 0
    started: bool = False
    ready: bool = False
    container_id: str = ""

    @property
    def done(self) -> bool:
        """Whether it has ended and is not started again."""
        return isinstance(self.state, Terminated) and not self.spec.restart.wants(self.state.code)

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well."""
        return isinstance(self.state, Terminated) and self.state.code == 0

    def waiting(self, reason: str, message: str = "") -> "ContainerView":
        """The same container, now waiting; what it was before is what it was last."""
        last = self.state if isinstance(self.state, Terminated) else self.last
        return replace(self, state=Waiting(reason, message), last=last, started=False, ready=False)

    def running(self, since: datetime.datetime, container_id: str, restarts: int) -> "ContainerView":
        """The same container, started; without probes it is ready at once."""
        last = self.state if isinstance(self.state, Terminated) else self.last
        started = self.spec.startup is None
        return replace(
            self,
            state=Running(since),
            last=last,
            restarts=restarts,
            started=started,
            ready=started and self.spec.readiness is None and (self.spec.sidecar or not self.spec.init),
            container_id=container_id,
        )

    def terminated(self, end: Terminated) -> "ContainerView":
        """The same container, ended."""
        ready = self.spec.init and not self.spec.sidecar and end.code == 0
        return replace(self, state=end, started=False, ready=ready, container_id=end.container_id or self.container_id)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A pod that the node has failed, whatever its containers say."""

    reason: str
    message: str
    disruption: bool = False
    """Whether the pod was a target of disruption, as in an eviction."""


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod at one moment."""

    spec: Pod
    init: tuple[ContainerView, ...]
    main: tuple[ContainerView, ...]
    address: str
    host: str
    started: datetime.datetime
    terminal: bool = False
    """Nothing of it runs any more, and nothing will."""
    verdict: Verdict | None = None

    @property
    def containers(self) -> tuple[ContainerView, ...]:
        """All of them, in the order of starting."""
        return (*self.init, *self.main)

    @property
    def any_main_started(self) -> bool:
        """Whether initialisation is over, also when a sidecar restarts later."""
        return any(not isinstance(each.state, Waiting) or each.last for each in self.main)


def first_view(spec: Container, *, has_init: bool) -> ContainerView:
    """A container that nothing is known of."""
    return ContainerView(spec, Waiting("PodInitializing" if has_init else "ContainerCreating"))
