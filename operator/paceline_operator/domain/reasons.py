"""The reasons of conditions and events. They are part of the API: programs compare them, none changes its meaning."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """One word for programs; the message beside it is for people.

    The comments say which condition a reason belongs to, and with the sentence under each they are the reference page.
    """

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
    """The database can be used; the message warns where the pods share the operator's login."""
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
    """The pool is another namespace's, or another group's: one with dispatch Leader must be the only one on it."""

    # Available
    AVAILABLE = "Available"
    """Somebody may claim."""
    UNAVAILABLE = "Unavailable"
    """Runners are wanted, and nobody may claim."""
    EMPTY = "Empty"
    """No runner is wanted now."""

    # Progressing
    STABLE = "Stable"
    """There is nothing to do."""
    PROGRESSING = "Progressing"
    """Runners come or go: the message says how many."""
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
    """Somebody leads: status.leader says who, and since which epoch."""
    NOBODY_ELIGIBLE = "NobodyEligible"
    """No runner of the group may lead now: none is registered, or each is tainted."""

    # Paused
    NOT_PAUSED = "NotPaused"
    """Nobody has paused it."""

    # TaintsApplied
    APPLIED = "Applied"
    """What could not be read before can be read again."""
    INVALID_TAINT = "InvalidTaint"
    """An annotation cannot be read: the message quotes it, and what was in force before stays."""

    # Runner: Ready, Registered
    TAINTED = "Tainted"
    """A Drain taint is on it."""
    NOT_OURS = "NotOurs"
    """It was made by hand, and is neither started nor counted."""
    REGISTERED = "Registered"
    """A process works in its name."""
    NOT_REGISTERED = "NotRegistered"
    """No process works in its name: it does not run, or does not reach the database."""
    DRAINING = "Draining"
    """It finishes what it has and leaves."""
    FAILED = "Failed"
    """Its pod ended in an error: the message says how."""


class Happened(StrEnum):
    """The reasons of events that tell what was done; a condition that changes is told by its own reason."""

    SCALED_UP = "ScaledUp"
    """Runners were created: the message names them."""
    SCALED_DOWN = "ScaledDown"
    """Runners that hold no job lost the right to claim, and go."""
    PODS_CREATED = "PodsCreated"
    """Runners that were there got new pods, each with the reason."""
    DRAINING = "Draining"
    """Runners finish what they have and leave."""
    LIFETIME_SERVED = "LifetimeServed"
    """Runners have done spec.lifetime.maxJobs jobs, and are deleted."""
    RUNNER_LOST = "RunnerLost"
    """A runner died with jobs in its hands, which are claimable again: the message has its cause and their number."""
    RESCALED = "Rescaled"
    """The queue wants another size: the message says what each rule made of it."""
    REPLICAS_IGNORED = "ReplicasIgnored"
    """Somebody wrote spec.replicas of a group whose size the queue decides."""
    ROLLOUT_STARTED = "RolloutStarted"
    """A new revision replaces the one that runners have."""
    ROLLED_OUT = "RolledOut"
    """All runners have the new revision."""
    LEADER_CHANGED = "LeaderChanged"
    """Another runner leads: the message names it and its epoch."""


WARNINGS: Final = frozenset({Happened.RUNNER_LOST, Happened.REPLICAS_IGNORED})
"""All others are Normal."""
