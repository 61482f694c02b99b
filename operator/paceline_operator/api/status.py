"""What the operator reports. Every field is optional: an object that is new has an empty status."""

from pydantic import Field

from paceline_operator.api.meta import Condition, Timestamp
from paceline_operator.api.schema import ApiModel, FreeForm, list_map


class Leader(ApiModel):
    """The only runner that claims jobs in a group with dispatch Leader."""

    runner: str | None = None
    """Name of the Runner that leads."""

    epoch: int | None = None
    """Grows with every change of leader. A claim of an older epoch is refused."""


class QueueStatus(ApiModel):
    """The group's pool, at most a few seconds old. Counts end at 5000, or at what the group could use."""

    ready: int | None = None
    """Jobs that a runner could start now."""

    running: int | None = None
    """Jobs that a runner has claimed."""

    scheduled: int | None = None
    """Jobs that wait for their time, retries included."""

    blocked: int | None = None
    """Jobs that wait for another one with the same concurrency key."""

    unclaimable: int | None = None
    """Jobs that no runner of any group could take, for their kind, tags or taints. They do not drive
    scaling."""

    dead: int | None = None
    """Jobs in the dead-letter table: they have failed for good."""

    oldest_seconds: int | None = None
    """Age of the oldest ready job in seconds: how long it has been waiting."""


class Recommendation(ApiModel):
    """The last decision about the size."""

    replicas: int | None = None
    """How many runners the group should have."""

    reason: str | None = None
    """One word for programs: the rule that had the last word."""

    limited_by: str | None = None
    """The limit that kept the size from following demand, for example maxReplicas. Unset where none did."""

    inputs: FreeForm | None = None
    """The numbers that the decision was made from."""

    at: Timestamp | None = None
    """When the decision was made."""


class AlertStatus(ApiModel):
    """Something about the group that somebody should know, while the operator tells alerts by webhook."""

    name: str
    """Which alert: docs/runbooks has a page of that name."""

    since: Timestamp
    """When what it is about began."""

    message: str | None = None
    """What was seen when it had lasted long enough to be told. Unset until then."""

    told_at: Timestamp | None = None
    """When the receivers were last told. Unset while they have still to be."""

    ended_at: Timestamp | None = None
    """When it was over. The alert goes when the receivers have been told."""


class RunnerGroupStatus(ApiModel):
    """What the operator last saw of a group."""

    pool: str | None = None
    """The pool that the group serves: spec.pool, or the group's name where that is empty."""

    replicas: int | None = None
    """Runners in the cluster that count for the group's size. Draining ones do not."""

    ready_replicas: int | None = None
    """Runners that are registered and may claim jobs."""

    busy_replicas: int | None = None
    """Runners that hold at least one job."""

    idle_replicas: int | None = None
    """Runners that are ready and hold no job."""

    pending_replicas: int | None = None
    """Runners that are still starting."""

    selector: str | None = None
    """Label selector of the group's pods as a string, for the scale subresource."""

    leader: Leader | None = None
    """The runner that leads, in a group with dispatch Leader."""

    queue: QueueStatus | None = None
    """The group's pool in the database, rounded and at most a few seconds old."""

    recommendation: Recommendation | None = None
    """The last decision about the size, and what it was made from."""

    current_revision: str | None = None
    """The revision that runners have, or had before an update that is still going on."""

    update_revision: str | None = None
    """The revision that an update is going to. The same as currentRevision when it is done."""

    updated_replicas: int | None = None
    """Runners of the group's size that have the revision that they should have."""

    failed_revision: str | None = None
    """A revision that failed and was rolled back. It is not tried again until the template changes."""

    alerts: tuple[AlertStatus, ...] | None = Field(default=None, json_schema_extra=list_map("name"))
    """Alerts that have begun, and those whose end has still to be told. Unset where there are none, and where the
    operator has no webhook."""

    observed_generation: int | None = None
    """The metadata.generation that this status is about."""

    conditions: tuple[Condition, ...] = Field(default_factory=tuple, json_schema_extra=list_map("type"))
    """What is true about the group: Ready, Available, Progressing, ScalingActive, ScalingLimited,
    QueueReachable, LeaderElected, Paused, and TaintsApplied where taints could not be read."""


class RunnerStatus(ApiModel):
    """What the operator last saw of a runner. How busy it is, `kubectl paceline top` shows."""

    pod_name: str | None = None
    """The pod that the runner lives in. Unset for one outside the cluster, and while there is no pod."""

    incarnation: int | None = None
    """Number of the runner's current registration. A restarted runner gets a new one."""

    revision: str | None = None
    """The revision of the group that the runner's pod was made from."""

    taints: str | None = None
    """The taints in force, whoever gave them: by annotation or spec, here or on the group, by command or
    gateway. Unset where there are none."""

    observed_generation: int | None = None
    """The metadata.generation that this status is about."""

    conditions: tuple[Condition, ...] = Field(default_factory=tuple, json_schema_extra=list_map("type"))
    """What is true about the runner: Ready, Registered, and TaintsApplied where taints could not be read."""
