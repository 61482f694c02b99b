"""What the operator counts, for Prometheus. Labels name groups, never runners or jobs: each would be a series."""

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
        self.leads = Gauge("paceline_operator_leads", "Whether this operator acts.", registry=self.registry)
        self.errors = Counter("paceline_reconcile_errors", "Looks that ended in an error.", registry=self.registry)
        self.requests = Counter(
            "paceline_api_requests", "Requests to the API server.", ("verb", "resource", "code"), registry=self.registry
        )
        self.interrupted = Counter(
            "paceline_jobs_interrupted", "Jobs whose runner was lost.", ("cause",), registry=self.registry
        )
        self.runners = Gauge(
            "paceline_runners", "Runners of a group, by how they are.", (*group, "state"), registry=self.registry
        )
        self.wanted = Gauge(
            "paceline_runners_wanted", "Runners that a group shall have.", group, registry=self.registry
        )
        self.updated = Gauge(
            "paceline_runners_updated", "Runners that have the revision they shall have.", group, registry=self.registry
        )
        self.rollouts = Counter(
            "paceline_rollouts", "Updates of a group that began, ended well, or failed.", (*group, "what"),
            registry=self.registry,
        )  # fmt: skip
        self.ready_jobs = Gauge("paceline_jobs_ready", "Jobs that could start now.", group, registry=self.registry)
        self.oldest = Gauge(
            "paceline_job_oldest_seconds", "How long the oldest of them waits.", group, registry=self.registry
        )
        self.reachable = Gauge(
            "paceline_queue_reachable", "Whether a group's database can be used.", group, registry=self.registry
        )

    def forget(self, namespace: str, group: str) -> None:
        """A group is gone, and its series go with it."""
        for metric in (
            self.runners, self.wanted, self.updated, self.rollouts, self.ready_jobs, self.oldest, self.reachable
        ):  # fmt: skip
            metric.remove_by_labels({"namespace": namespace, "group": group})
