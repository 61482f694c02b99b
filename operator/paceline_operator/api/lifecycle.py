"""How runners end and are replaced: lifetime, drain, evictions and rolling updates."""

from typing import Literal

from pydantic import ConfigDict, Field

from paceline_operator.api.autoscaling import Runners
from paceline_operator.api.schema import ApiModel, checked, rule


class Lifetime(ApiModel):
    """When a runner has served long enough."""

    max_jobs: int = Field(default=0, ge=0, le=1_000_000)
    """Jobs that a runner takes before it is deleted with its pod and a new one made. Default: 0, no limit.
    1 gives every job a fresh runner."""

    max_age_seconds: int = Field(default=0, ge=0, le=31_536_000)
    """Seconds after which a runner finishes its jobs and gets a new pod under its old name. Default: 0,
    never. At most a year (31536000)."""


class Drain(ApiModel):
    """How a runner stops."""

    timeout_seconds: int = Field(default=300, ge=1, le=604_800)
    """Seconds that running jobs get to finish when a runner is deleted, evicted or drained by a user, 1 to
    604800 (a week). Default: 300. What is not finished then goes back into the queue without losing a try.
    Scaling down and rolling updates wait without limit instead. The pod's grace period is 30 seconds
    longer."""


class DisruptionBudget(ApiModel):
    """How many runners may be evicted at once."""

    max_unavailable: Runners = 1
    """Runners that node drains and other evictions may take away at the same time, 0 to 10000. Default: 1.
    0 blocks every eviction, and so the upgrade of nodes."""


class Canary(ApiModel):
    """The first runners of a new revision, watched before the others follow."""

    runners: Runners = 1
    """Runners that get the new revision first. Default: 1. 0 rolls without a canary."""

    observe_seconds: int = Field(default=60, ge=0, le=86_400)
    """Seconds that the canary is watched once it is ready, 0 to 86400. Default: 60."""

    max_failure_ratio: float = Field(default=0.2, ge=0, le=1)
    """How much higher the canary's share of failed jobs may be than the old revision's, 0 to 1. Default:
    0.2. Judged only after 20 of its jobs have run. Above it the update stops."""


class UpdateStrategy(ApiModel):
    """How runners get a new template, slots, tags, database or drain setting."""

    model_config = ConfigDict(
        json_schema_extra=checked(
            rule(
                "self.maxSurge + self.maxUnavailable > 0",
                "updateStrategy.maxSurge and updateStrategy.maxUnavailable must not both be 0: "
                "set one of them to 1 or more, or no runner could ever be replaced",
                field=".maxSurge",
            )
        )
    )

    type: Literal["RollingUpdate"] = "RollingUpdate"
    """RollingUpdate: runners are restarted a few at a time, idle ones first, each after it has finished its
    jobs. It is the only strategy."""

    max_surge: Runners = 1
    """Extra runners during an update, so that capacity does not fall. Default: 1."""

    max_unavailable: Runners = 0
    """Runners that may be missing during an update, on top of the extra ones. Default: 0."""

    canary: Canary = Canary()
    """The first runners that get a new revision. Default: one runner, watched for 60 seconds."""

    auto_rollback: bool = True
    """Go back to the old revision when the canary fails. Default: true. The spec is not changed: the
    revision that failed is kept in status.failedRevision and not tried again until the template changes.
    With false the update only stops."""

    revision_history_limit: int = Field(default=10, ge=0, le=100)
    """Old revisions that are kept to go back to, 0 to 100. Default: 10."""
