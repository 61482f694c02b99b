"""How the size of a RunnerGroup follows its queue."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from paceline_operator.api.schema import ApiModel, checked, rule, shaped

MAX_RUNNERS = 10_000

Runners = Annotated[int, Field(ge=0, le=MAX_RUNNERS)]
"""A number of runners of one group."""

ScalingMode = Literal["Internal", "External", "Recommend", "Off"]

Quantity = int | Annotated[str, Field(max_length=32)]
"""A Kubernetes quantity as it is written in YAML, for example 0 or "0.1"; a fraction needs the quotes."""


class ScalingPolicy(ApiModel):
    """How far the size may move within a period."""

    type: Literal["Pods", "Percent"]
    """Pods: `value` is a number of runners. Percent: `value` is a share of the size at the start of the
    period."""

    value: int = Field(ge=1)
    """How many runners, or how many percent, may be added or removed within the period. At least 1."""

    period_seconds: int = Field(ge=1, le=1800)
    """Length of the period in seconds, 1 to 1800."""


class ScalingRules(ApiModel):
    """How the size moves in one direction; the fields mean what they mean to a HorizontalPodAutoscaler."""

    stabilization_window_seconds: int | None = Field(default=None, ge=0, le=3600)
    """Seconds to look back, 0 to 3600. Of all sizes recommended in that time the most cautious one is
    taken: the highest when scaling down, the lowest when scaling up."""

    select_policy: Literal["Max", "Min", "Disabled"] | None = None
    """Which policy counts where there are several. Max: the one that allows the largest change. Min: the
    smallest change. Disabled: the size never moves in this direction."""

    policies: tuple[ScalingPolicy, ...] | None = Field(default=None, min_length=1, max_length=20)
    """Limits on the speed of the change; at least one if given."""

    tolerance: Quantity | None = Field(
        default=None,
        json_schema_extra=checked(
            rule(
                "type(self) == int ? self >= 0 : isQuantity(self) && !quantity(self).isLessThan(quantity('0'))",
                'tolerance must be a quantity that is not negative: write it like "0.1" (with quotes) or 0',
            )
        ),
    )
    """How far demand may be from the current size, as a share of it, before anything changes. "0.1" is ten
    percent; put a fraction in quotes."""


class Behavior(ApiModel):
    """Limits on scaling, field by field those of a HorizontalPodAutoscaler (autoscaling/v2)."""

    scale_up: ScalingRules | None = None
    """How the group grows. Unset: at once and without limit."""

    scale_down: ScalingRules | None = None
    """How the group shrinks. Unset: by any amount, to the highest size that was recommended in the last 300
    seconds. Whatever is set, only runners without a job are removed."""


class Targets(ApiModel):
    """What the scaling aims at."""

    utilization: int = Field(default=100, ge=1, le=100)
    """Percent of the slots that should be in use, 1 to 100. Default: 100. A lower value keeps slots free
    for bursts: at 50 the group has twice the slots that its jobs need."""

    wait_seconds: int = Field(default=0, ge=0, le=86_400)
    """How many seconds a job may wait before it starts, 0 to 86400. Default: 0, which gives every waiting
    job its own slot at once. With a higher value fewer runners work through a burst one job after the
    other."""


class Schedule(ApiModel):
    """A time of the week at which the group must not be smaller than a given size."""

    cron: str = Field(
        max_length=128,
        json_schema_extra=checked(
            rule(
                r"self.matches('^\\s*\\S+(\\s+\\S+){4}\\s*$')",
                "schedules[].cron must have five fields (minute, hour, day of month, month, day of week): "
                'write it like "0 8 * * 1-5"',
            )
        ),
    )
    """When the time begins: minute, hour, day of month, month and day of week. "0 8 * * 1-5" is 08:00 from
    Monday to Friday."""

    timezone: Annotated[
        str,
        shaped(
            "^[A-Za-z][-A-Za-z0-9_+/]*$",
            "schedules[].timezone must be a name of the IANA time zone database: write it like Europe/Berlin or UTC",
            max_length=64,
        ),
    ] = "UTC"
    """Time zone that `cron` is read in, by its IANA name, for example Europe/Berlin. Default: UTC."""

    duration_seconds: int = Field(ge=60, le=604_800)
    """How long the time lasts, in seconds, from a minute (60) to a week (604800)."""

    min_replicas: Runners
    """The fewest runners during that time. The highest floor counts: the group's own minReplicas still
    holds. At most maxReplicas."""


class Fallback(ApiModel):
    """What to do when the queue cannot be read."""

    replicas: Runners
    """The group grows to this many runners. If it has more already it keeps them. At most maxReplicas."""

    after_seconds: int = Field(default=180, ge=1, le=86_400)
    """How many seconds the queue must have been unreadable, 1 to 86400. Default: 180."""


_TOO_FEW = "raise maxReplicas, or lower this value"


class Autoscaling(ApiModel):
    """How the number of runners follows the queue."""

    model_config = ConfigDict(
        json_schema_extra=checked(
            rule(
                "self.minReplicas <= self.maxReplicas",
                f"autoscaling.minReplicas must be at most autoscaling.maxReplicas: {_TOO_FEW}",
                field=".minReplicas",
            ),
            rule(
                "self.minIdle <= self.maxReplicas",
                f"autoscaling.minIdle must be at most autoscaling.maxReplicas: {_TOO_FEW}",
                field=".minIdle",
            ),
            rule(
                "self.schedules.all(s, s.minReplicas <= self.maxReplicas)",
                f"autoscaling.schedules[].minReplicas must be at most autoscaling.maxReplicas: {_TOO_FEW}",
                field=".schedules",
            ),
            rule(
                "!has(self.fallback) || self.fallback.replicas <= self.maxReplicas",
                f"autoscaling.fallback.replicas must be at most autoscaling.maxReplicas: {_TOO_FEW}",
                field=".fallback.replicas",
            ),
        )
    )

    mode: ScalingMode = "Internal"
    """Who decides the size. Internal: Paceline, from the queue; spec.replicas is then neither read nor
    written. External: an HPA or KEDA, which writes spec.replicas through the scale subresource. Recommend:
    you, by spec.replicas; Paceline writes what it would do into status.recommendation. Off: you, by
    spec.replicas. Default: Internal."""

    min_replicas: Runners = 0
    """The fewest runners that Internal keeps, 0 to 10000. Default: 0, so that an empty queue costs nothing;
    the first job then waits for a pod to start."""

    max_replicas: int = Field(ge=1, le=MAX_RUNNERS)
    """The most runners that Internal starts, 1 to 10000. Jobs beyond that wait in the queue. Where several
    groups serve one pool, they share its work in proportion to this number."""

    min_idle: Runners = 0
    """Runners kept free on top of those that the queue needs, so that a new job starts without waiting for
    a pod. Default: 0. At most maxReplicas, which limits the sum."""

    targets: Targets = Targets()
    """How full the runners should be and how long a job may wait. Default: full, and no wait."""

    schedules: tuple[Schedule, ...] = Field(default=(), max_length=64)
    """Times at which the group must not be smaller than a given size, for example office hours. At most
    64."""

    behavior: Behavior | None = None
    """How fast the group may grow and shrink: the `behavior` of a HorizontalPodAutoscaler, with the same
    rules. Unset: it grows at once, and shrinks to the highest size recommended in the last 300 seconds."""

    fallback: Fallback | None = None
    """What to do when the queue cannot be read. Unset: the group keeps its current size until it can."""
