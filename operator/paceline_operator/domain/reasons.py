"""The reasons of conditions and events. They are part of the API: programs compare them, none changes its meaning."""

from enum import StrEnum


class Reason(StrEnum):
    """One word for programs; the message beside it is for people."""

    # Ready
    AS_WANTED = "AsWanted"
    """As many runners as wanted, and all may claim."""
    SCALING_UP = "ScalingUp"
    """Runners are still to come, or are starting."""
    SCALING_DOWN = "ScalingDown"
    """Runners are to go once they hold no job."""
    ROLLING_OUT = "RollingOut"
    """Runners get a new revision, a few at a time: the message says how far it is."""
    ROLLED_BACK = "RolledBack"
    """The new revision failed, and the old one stays until the template changes: the message gives the figures."""
    NOT_READY = "RunnersNotReady"
    """Runners that should work do not: the message says how many, and why where it is known."""
    PAUSED = "Paused"
    """The annotation paceline.dev/paused stops claims and scaling."""
    DRAINED = "Drained"
    """A Drain taint is on the whole group: none of its runners works until it is removed."""
    DELETING = "Deleting"
    """The group drains and goes."""
    INVALID = "InvalidSpec"
    """The spec cannot be read: the message names the field."""

    # QueueReachable
    REACHABLE = "Reachable"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 -- a reason, not a secret
    """The Secret of spec.database.secretRef, or its key url, is not there."""
    SECRET_INVALID = "SecretInvalid"  # noqa: S105
    """The url in the Secret is none."""
    UNREACHABLE = "Unreachable"
    """The database does not answer, or refuses the login."""
    SCHEMA_TOO_OLD = "SchemaTooOld"
    """`paceline migrate` has to be run; nothing is changed until then."""
    REFUSED = "Refused"
    """The database does not let this group serve its pool: the message says why and what to do."""
    POOL_CONFLICT = "PoolConflict"
    """A group with dispatch Leader must be the only one on its pool."""

    # Available
    AVAILABLE = "Available"
    UNAVAILABLE = "Unavailable"
    EMPTY = "Empty"
    """No runner is wanted now."""

    # Progressing
    STABLE = "Stable"
    PROGRESSING = "Progressing"
    TEMPLATE_INVALID = "TemplateInvalid"
    """No pod can be made of the template: the message says what to change."""
    TEMPLATE_REFUSED = "TemplateRefused"
    """The API server refuses pods of this template: the message is its own."""
    CANNOT_START = "CannotStart"
    """Pods are there and do not start: the message is the kubelet's or the scheduler's own."""
    FAILING = "RunnersFailing"
    """Pods end before they have registered; one at a time is tried, less and less often."""
    ROLLOUT_PAUSED = "RolloutPaused"
    """The annotation paceline.dev/rollout-paused, or paceline.dev/paused, lets no runner be restarted."""
    ROLLOUT_STALLED = "RolloutStalled"
    """An update waits for a runner to finish: the message names the job."""
    ROLLOUT_STOPPED = "RolloutStopped"
    """The new revision failed, and updateStrategy.autoRollback is false: nobody gets it, and nobody goes back."""
    QUOTA = "QuotaExceeded"
    """The namespace's quota does not allow more pods."""

    # ScalingActive
    MANUAL = "Manual"
    """spec.replicas counts, and nobody else writes it."""
    EXTERNAL = "External"
    """An HPA or KEDA writes spec.replicas."""
    INTERNAL = "Internal"
    """The queue decides; status.recommendation says how and why."""
    RECOMMEND_ONLY = "RecommendOnly"
    """spec.replicas counts; status.recommendation says what the queue would want."""
    QUEUE_UNKNOWN = "QueueUnknown"
    """The queue has not been read yet: the size stays."""
    QUEUE_UNREADABLE = "QueueUnreadable"
    """The queue cannot be read: the size stays, or follows autoscaling.fallback."""
    INVALID_SCALING = "InvalidAutoscaling"
    """A schedule or a tolerance cannot be read: the message names it. All else counts."""

    # LeaderElected
    ELECTED = "Elected"
    NOBODY_ELIGIBLE = "NobodyEligible"
    """No runner of the group may lead now: none is registered, or each is tainted."""

    # Paused
    NOT_PAUSED = "NotPaused"

    # TaintsApplied
    APPLIED = "Applied"
    INVALID_TAINT = "InvalidTaint"
    """An annotation cannot be read: the message quotes it, and what was in force before stays."""

    # Runner: Ready, Registered
    TAINTED = "Tainted"
    """A Drain taint is on it."""
    NOT_OURS = "NotOurs"
    """It was made by hand, and is neither started nor counted."""
    REGISTERED = "Registered"
    NOT_REGISTERED = "NotRegistered"
    DRAINING = "Draining"
    FAILED = "Failed"
