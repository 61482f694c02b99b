"""What the operator counts, for Prometheus. Labels name groups, never runners or jobs: each would be a series."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """One for a process, with a registry of its own."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.registry = CollectorRegistry()
        group = ("namespace", "group")
        self.turns = Histogram(
            "paceline_reconcile_seconds", "Time that one look at a group and what followed from it took.",
            registry=self.registry, buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )  # fmt: skip
        self.webhooks = Counter(
            "paceline_webhooks", "Requests to webhooks: delivered, or failed and tried again; alerts given_up after an "
            "hour, or dropped until there is room for them.", ("result",), registry=self.registry,
        )  # fmt: skip
        self.leads = Gauge(
            "paceline_operator_leads", "1 in the operator that acts, 0 in the others.", registry=self.registry
        )
        self.errors = Counter("paceline_reconcile_errors", "Looks that ended in an error.", registry=self.registry)
        self.requests = Counter(
            "paceline_api_requests", "Requests to the API server.", ("verb", "resource", "code"), registry=self.registry
        )
        self.interrupted = Counter(
            "paceline_jobs_interrupted", "Jobs whose runner was lost.", ("cause",), registry=self.registry
        )
        self.runners = Gauge(
            "paceline_runners", "Runners of a group that are ready, busy, pending or leaving.", (*group, "state"),
            registry=self.registry,
        )  # fmt: skip
        self.wanted = Gauge(
            "paceline_runners_wanted", "Runners that a group shall have.", group, registry=self.registry
        )
        self.updated = Gauge(
            "paceline_runners_updated", "Runners that have the revision they shall have.", group, registry=self.registry
        )
        self.rollouts = Counter(
            "paceline_rollouts", "Updates of a group that have begun, are done, or have failed.", (*group, "what"),
            registry=self.registry,
        )  # fmt: skip
        self.ready_jobs = Gauge("paceline_jobs_ready", "Jobs that could start now.", group, registry=self.registry)
        self.oldest = Gauge(
            "paceline_job_oldest_seconds", "How long the oldest job that could start has waited.", group,
            registry=self.registry,
        )  # fmt: skip
        self.reachable = Gauge(
            "paceline_queue_reachable", "Whether a group's database can be used: 1 or 0.", group, registry=self.registry
        )
        self.dead_jobs = Gauge(
            "paceline_jobs_dead", "Dead letters of the group's pool; counting ends at 5,000, or at what the group "
            "could use if that is more.", group,
            registry=self.registry,
        )  # fmt: skip
        self.unclaimable = Gauge(
            "paceline_jobs_unclaimable", "Jobs of the group's pool that could start now, and that nobody can claim.",
            group, registry=self.registry,
        )  # fmt: skip
        self.held = Gauge(
            "paceline_vacuum_held_seconds", "How long somebody has kept vacuum from a group's database; asked once a "
            "minute, and 0 below 10 seconds.", group,
            registry=self.registry,
        )  # fmt: skip
        self.pods_failed = Counter(
            "paceline_pods_failed", "Pods of a group that ended in an error, or did not register in time; not those "
            "that were evicted, or let go while the database was away.", group,
            registry=self.registry,
        )  # fmt: skip
        self._conditions = Gauge(
            "paceline_group_condition", "A condition of a group: 1 if it is true, 0 if not; absent while nobody knows.",
            (*group, "type", "reason"), registry=self.registry,
        )  # fmt: skip
        self._reasons: dict[tuple[str, str], dict[str, str]] = {}
        """By group, the reason that each type of condition is shown with."""

    def show_conditions(self, namespace: str, group: str, conditions: Mapping[str, tuple[str, bool]]) -> None:
        """Reason and truth of a group's conditions, by their types; what is not among them any more goes."""
        shown = self._reasons.get((namespace, group), {})
        for kind, reason in shown.items():
            if kind not in conditions or conditions[kind][0] != reason:
                self._conditions.remove(namespace, group, kind, reason)
        for kind, (reason, true) in conditions.items():
            self._conditions.labels(namespace, group, kind, reason).set(true)
        self._reasons[namespace, group] = {kind: reason for kind, (reason, _) in conditions.items()}

    def forget(self, namespace: str, group: str) -> None:
        """A group is gone, and its series go with it."""
        for metric in self._of_groups:
            metric.remove_by_labels({"namespace": namespace, "group": group})
        self._reasons.pop((namespace, group), None)

    def forget_all(self) -> None:
        """This operator acts no more: what it has last seen of groups is not how they are."""
        for metric in self._of_groups:
            metric.clear()
        self._reasons.clear()

    @property
    def _of_groups(self) -> tuple[Gauge | Counter, ...]:
        return (
            self.runners, self.wanted, self.updated, self.rollouts, self.ready_jobs, self.oldest, self.reachable,
            self.dead_jobs, self.unclaimable, self.held, self.pods_failed, self._conditions,
        )  # fmt: skip
