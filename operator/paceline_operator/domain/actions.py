"""What a plan wants done. Each is a value: it can be shown, counted and replayed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from paceline.taint import Taint
from paceline_operator.domain.revision import RevisionSeen


class Why(StrEnum):
    """Why something is done; goes into events, logs and metrics alike."""

    SCALE_DOWN = "ScaleDown"
    NO_POD = "NoPod"
    """A Runner has no pod: it is new, or somebody deleted it."""
    POD_FAILED = "PodFailed"
    POD_LEAVES = "PodLeaves"
    """Its pod is going, and another takes its place."""
    SERVED = "LifetimeServed"
    """It has done as many jobs, or lived as long, as it was meant to."""
    REPLACED = "Replaced"
    """A newer pod of the same Runner is there."""
    STARTUP_TIMEOUT = "StartupTimeout"
    CORDONED = "NodeCordoned"
    TAINTED = "Tainted"
    """A Drain taint is on its Runner."""
    ROLLED = "NewRevision"
    """It is restarted to get the revision that its group is going to."""
    RESTARTED = "Restarted"
    """Somebody asked for it with an annotation on the Runner."""
    UNSEEN = "Unseen"
    """A runner outside the cluster has not been heard of for a day."""
    ORPHANED = "Orphaned"
    GROUP_DELETED = "GroupDeleted"


@dataclass(frozen=True, slots=True)
class CreateRunners:
    """New Runners, each with its first pod."""

    count: int
    revision: str = ""


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Another pod for a Runner that is there."""

    runner: str
    runner_uid: str
    boot: int
    why: Why
    revision: str = ""
    restarted_at: str = ""
    """What the Runner's annotation says, to be told from a later one."""


@dataclass(frozen=True, slots=True)
class DeleteRunner:
    """A Runner and, with it, its pods."""

    name: str
    uid: str
    why: Why


@dataclass(frozen=True, slots=True)
class DeletePod:
    """One pod."""

    name: str
    uid: str
    why: Why


@dataclass(frozen=True, slots=True)
class Fence:
    """Nobody works in these pods any more: what they held is claimable again."""

    causes: Mapping[str, str]
    """By the pod's UID."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """The nodes of these pods do not answer: should their leases end, that is why."""

    pods: frozenset[str]


@dataclass(frozen=True, slots=True)
class Retire:
    """Scale down: choose so many idle Runners and let them claim nothing any more."""

    count: int
    unready: tuple[str, ...]
    """Those that are not ready, so that they go before others."""


@dataclass(frozen=True, slots=True)
class Drain:
    """These Runners shall finish, as long as it takes, and leave."""

    runners: tuple[str, ...]
    why: Why


@dataclass(frozen=True, slots=True)
class Forget:
    """Rows of Runners that are no more."""

    runners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Protect:
    """A job runs long in this pod: node consolidation shall leave it alone, or need not any more."""

    pod: str
    uid: str
    on: bool


@dataclass(frozen=True, slots=True)
class Relabel:
    """Somebody took away the label by which this pod is found."""

    pod: str
    uid: str
    runner: str


@dataclass(frozen=True, slots=True)
class SetTaints:
    """A Runner's taints from one source shall be these."""

    runner: str
    source: str
    taints: tuple[Taint, ...]
    external: bool = False


@dataclass(frozen=True, slots=True)
class MarkLeader:
    """This pod leads its group, or does not any more."""

    pod: str
    uid: str
    on: bool


@dataclass(frozen=True, slots=True)
class Mirror:
    """Objects for runners outside the cluster."""

    runners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SaveRevision:
    """Keep what pods of this revision are made of; of one that is kept, its number or since when it is watched."""

    revision: RevisionSeen


@dataclass(frozen=True, slots=True)
class DropRevision:
    """Nobody can go back to this one any more."""

    revision: str
    uid: str


@dataclass(frozen=True, slots=True)
class SetBudget:
    """The PodDisruptionBudget of the group."""

    min_available: int


Action = (
    CreateRunners
    | CreatePod
    | DeleteRunner
    | DeletePod
    | Fence
    | Suspect
    | Retire
    | Drain
    | Forget
    | Protect
    | Relabel
    | SetBudget
    | SetTaints
    | MarkLeader
    | Mirror
    | SaveRevision
    | DropRevision
)
