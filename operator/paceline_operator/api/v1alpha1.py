"""RunnerGroup and Runner, version v1alpha1: what users write, and where the operator reports.

The CRDs and their reference page are generated from here (`make crds`); the docstring of a field is what
`kubectl explain` shows.
"""

from typing import Final, Literal

from pydantic import ConfigDict, Field

from paceline_operator.api.autoscaling import (
    Autoscaling,
    Behavior,
    Fallback,
    Quantity,
    Runners,
    ScalingMode,
    ScalingPolicy,
    ScalingRules,
    Schedule,
    Targets,
)
from paceline_operator.api.lifecycle import Canary, DisruptionBudget, Drain, Lifetime, UpdateStrategy
from paceline_operator.api.meta import Condition, ObjectMeta, OwnerReference, Timestamp
from paceline_operator.api.names import (
    LONGEST_GROUP_NAME,
    LONGEST_RUNNER_NAME,
    PoolName,
    SecretName,
    Tag,
    name_rules,
)
from paceline_operator.api.schema import (
    ApiModel,
    Column,
    FreeForm,
    Resource,
    Scale,
    checked,
    list_map,
    list_set,
    rule,
)
from paceline_operator.api.status import (
    AlertStatus,
    Leader,
    QueueStatus,
    Recommendation,
    RunnerGroupStatus,
    RunnerStatus,
)
from paceline_operator.api.taint import Taint, TaintEffect

__all__ = [
    "GROUP",
    "RESOURCES",
    "RUNNERS",
    "RUNNER_GROUPS",
    "VERSION",
    "AlertStatus",
    "Autoscaling",
    "Behavior",
    "Canary",
    "Condition",
    "Database",
    "Dispatch",
    "DisruptionBudget",
    "Drain",
    "Fallback",
    "GroupReference",
    "Leader",
    "Lifetime",
    "ObjectMeta",
    "OwnerReference",
    "Quantity",
    "QueueStatus",
    "Recommendation",
    "Runner",
    "RunnerGroup",
    "RunnerGroupSpec",
    "RunnerGroupStatus",
    "RunnerSpec",
    "RunnerStatus",
    "ScalingMode",
    "ScalingPolicy",
    "ScalingRules",
    "Schedule",
    "SecretReference",
    "Taint",
    "TaintEffect",
    "Targets",
    "Timestamp",
    "UpdateStrategy",
]

GROUP: Final = "paceline.dev"
VERSION: Final = "v1alpha1"

Dispatch = Literal["Shared", "Leader"]

_POOL = "({0}.spec.pool == '' ? {0}.metadata.name : {0}.spec.pool)"


class SecretReference(ApiModel):
    """A Secret in the namespace of the group."""

    name: SecretName
    """Name of the Secret."""


class Database(ApiModel):
    """The Postgres database that holds the group's jobs."""

    secret_ref: SecretReference
    """The Secret with the operator's login. Key url: the connection URL. Key listenUrl, optional: a URL
    that does not go through PgBouncer in transaction mode, for wake-ups without delay. A changed Secret is
    used at the next connection."""

    runner_secret_ref: SecretReference | None = None
    """The Secret with the login of the runners' pods, with the same keys. Unset: they share the operator's
    login, which may do more than a runner needs, and a condition warns about it."""


class RunnerGroupSpec(ApiModel):
    """What a user wants of a group."""

    pool: PoolName = ""
    """The queue in the database that the group serves. Default: empty, which means the group's own name. It
    cannot be changed later. At most 63 characters."""

    database: Database
    """The Postgres database that holds the group's jobs. Groups may live in different databases."""

    dispatch: Dispatch = "Shared"
    """Which runners claim jobs. Shared: all of them. Leader: only the elected leader, while the others
    stand by; the group must then be the only one on its pool. Default: Shared."""

    replicas: Runners = 1
    """How many runners to keep, 0 to 10000. Default: 1. This is what `kubectl scale`, an HPA or KEDA
    writes. With autoscaling mode Internal it is ignored."""

    slots: int = Field(default=1, ge=1, le=1000)
    """Jobs that each runner works on at once, 1 to 1000. Default: 1. A change restarts the runners, one
    after the other."""

    tags: tuple[Tag, ...] = Field(default=(), max_length=64, json_schema_extra=list_set())
    """What the runners can do, for example linux or docker. A job that asks for tags goes only to runners
    that have all of them. At most 64 tags of 63 characters. A change restarts the runners."""

    taints: tuple[Taint, ...] = Field(default=(), max_length=64, json_schema_extra=list_map("key", "effect"))
    """Taints on every runner of the group. They add to those of the annotation paceline.dev/taints. At most
    64."""

    lifetime: Lifetime = Lifetime()
    """When a runner is replaced although nothing is wrong with it. Default: never."""

    autoscaling: Autoscaling | None = None
    """How the number of runners follows the queue. Unset: it does not, and spec.replicas counts."""

    drain: Drain = Drain()
    """How long running jobs get when a runner is told to stop. Default: 300 seconds."""

    update_strategy: UpdateStrategy = UpdateStrategy()
    """How runners get a new template, slots, tags, database or drain setting. Default: one at a time behind
    a canary, and back again if the canary fails."""

    disruption_budget: DisruptionBudget = DisruptionBudget()
    """How many runners node drains and other evictions may take away at once. Default: 1."""

    startup_timeout_seconds: int = Field(default=600, ge=1, le=86_400)
    """Seconds in which a new runner must register, 1 to 86400. Default: 600. Until then it counts as
    capacity that is on its way; afterwards it does not, and a condition says so."""

    template: FreeForm | None = None
    """The runners' pods, a PodTemplateSpec. The container named runner is the one that works on jobs: its
    environment, probes, preStop hook, grace period and restart policy are set by the operator. Other
    containers must be native sidecars (init containers with restartPolicy Always). Unset: the group has
    only runners outside the cluster."""

    @property
    def scaling_mode(self) -> ScalingMode:
        """The mode in force: a group without an autoscaling block is Off."""
        return self.autoscaling.mode if self.autoscaling else "Off"


class RunnerGroup(ApiModel):
    """A pool of runners: how many there are, and how they scale, drain and roll."""

    model_config = ConfigDict(
        json_schema_extra=checked(
            *name_rules("RunnerGroup", LONGEST_GROUP_NAME),
            rule(
                f"{_POOL.format('self')} == {_POOL.format('oldSelf')}",
                "spec.pool of a RunnerGroup cannot change (empty means metadata.name): "
                "put the old value back, or create another RunnerGroup for the new pool",
                field=".spec.pool",
            ),
        )
    )

    api_version: Literal["paceline.dev/v1alpha1"] = "paceline.dev/v1alpha1"
    """Group and version of this object."""

    kind: Literal["RunnerGroup"] = "RunnerGroup"
    """Kind of this object."""

    metadata: ObjectMeta
    """Name, labels and annotations."""

    spec: RunnerGroupSpec
    """What you want: which queue to serve, with how many runners, and how they scale, drain and roll."""

    status: RunnerGroupStatus = RunnerGroupStatus()
    """What the operator last saw. Written by the operator."""

    @property
    def pool(self) -> str:
        """The pool in force: an empty spec.pool means the group's name."""
        return self.spec.pool or self.metadata.name


class GroupReference(ApiModel):
    """A RunnerGroup in the same namespace."""

    name: str = Field(min_length=1, max_length=LONGEST_GROUP_NAME)
    """Name of the RunnerGroup."""


class RunnerSpec(ApiModel):
    """What is wanted of one runner."""

    group_ref: GroupReference = Field(
        json_schema_extra=checked(
            rule(
                "self == oldSelf",
                "spec.groupRef of a Runner cannot change: "
                "put the old value back; the other group makes its own Runners",
            )
        )
    )
    """The RunnerGroup that the runner belongs to. It cannot be changed later."""

    taints: tuple[Taint, ...] = Field(default=(), max_length=64, json_schema_extra=list_map("key", "effect"))
    """Taints on this runner alone. They add to those of its group and of the annotation
    paceline.dev/taints. At most 64."""

    external: bool = Field(
        default=False,
        json_schema_extra=checked(
            rule(
                "self == oldSelf",
                "spec.external of a Runner cannot change: "
                "put the old value back; a runner that moves into or out of the cluster needs another name",
            )
        ),
    )
    """Whether the runner's process lives outside the cluster, so that it has no pod. Default: false. It
    cannot be changed later."""


class Runner(ApiModel):
    """One runner: a name and its taints, which stay while its pods come and go."""

    model_config = ConfigDict(json_schema_extra=checked(*name_rules("Runner", LONGEST_RUNNER_NAME)))

    api_version: Literal["paceline.dev/v1alpha1"] = "paceline.dev/v1alpha1"
    """Group and version of this object."""

    kind: Literal["Runner"] = "Runner"
    """Kind of this object."""

    metadata: ObjectMeta
    """Name, labels and annotations."""

    spec: RunnerSpec
    """Which group the runner belongs to, and what keeps jobs away from it."""

    status: RunnerStatus = RunnerStatus()
    """What the operator last saw. Written by the operator."""


_READY = '.status.conditions[?(@.type=="Ready")]'

RUNNER_GROUPS: Final = Resource(
    model=RunnerGroup,
    group=GROUP,
    version=VERSION,
    kind="RunnerGroup",
    plural="runnergroups",
    singular="runnergroup",
    short_names=("rgrp",),
    categories=("paceline",),
    columns=(
        Column("Replicas", ".status.replicas", "Runners that count for the group's size.", "integer"),
        Column("Ready", ".status.readyReplicas", "Runners that may claim jobs.", "integer"),
        Column("Busy", ".status.busyReplicas", "Runners that hold a job.", "integer"),
        Column("Queued", ".status.queue.ready", "Jobs that could start now.", "integer"),
        Column("Oldest(s)", ".status.queue.oldestSeconds", "Seconds that the oldest of them waits.", "integer"),
        Column("Why", f"{_READY}.reason", "Why the group is ready or not."),
        Column("Age", ".metadata.creationTimestamp", "Time since the group was created.", "date"),
        Column("Pool", ".status.pool", "The queue that the group serves.", wide=True),
        Column("Mode", ".spec.autoscaling.mode", "Who decides the size; empty means Off.", wide=True),
        Column("Leader", ".status.leader.runner", "The runner that leads.", wide=True),
        Column("Updated", ".status.updatedReplicas", "Runners that have the newest revision.", "integer", wide=True),
        Column("Pending", ".status.pendingReplicas", "Runners that are still starting.", "integer", wide=True),
        Column("Message", f"{_READY}.message", "Why, in a sentence.", wide=True),
    ),
    scale=Scale(".spec.replicas", ".status.replicas", ".status.selector"),
)

RUNNERS: Final = Resource(
    model=Runner,
    group=GROUP,
    version=VERSION,
    kind="Runner",
    plural="runners",
    singular="runner",
    short_names=("rnr",),
    categories=("paceline",),
    columns=(
        Column("Group", ".spec.groupRef.name", "The RunnerGroup that the runner belongs to."),
        Column("Ready", f"{_READY}.status", "Whether the runner may claim jobs."),
        Column("Why", f"{_READY}.reason", "Why the runner is ready or not."),
        Column("Pod", ".status.podName", "The pod that the runner lives in."),
        Column("Age", ".metadata.creationTimestamp", "Time since the runner was created.", "date"),
        Column(
            "External",
            ".spec.external",
            "Whether the runner lives outside the cluster.",
            "boolean",
            wide=True,
        ),
        Column("Taints", ".status.taints", "The taints in force, whoever gave them.", wide=True),
        Column("Incarnation", ".status.incarnation", "The current registration.", "integer", wide=True),
        Column("Revision", ".status.revision", "The revision that the pod was made from.", wide=True),
    ),
    selectable=(".spec.groupRef.name",),
)

RESOURCES: Final = (RUNNER_GROUPS, RUNNERS)
