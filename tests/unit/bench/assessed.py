"""Cells as a run might have seen them."""

from typing import Any

from paceline_bench.assess.seen import Seen

QUIET: dict[str, Any] = {
    "way": "gateway", "runners": 10, "rate": 100, "seconds": 20.0, "jobs": 1_000, "done": 50.0, "claim_p50": 4.0,
    "claim_p95": 9.0, "claim_p99": 20.0, "unclaimed": 0, "backlog_first": 0, "backlog_last": 0, "coordinator_cpu": 12.5,
    "postgres_cpu": 30.0, "runners_cpu": 20.0, "machine_cpu": 40.0, "write_p50": 1.5, "write_p99": 6.0, "sync": 0.4,
    "gateway_write_p95": 4.0, "failed": {}, "lost": None, "errors": 0, "empty": None, "connections": 11, "wal": 2_200.0,
}  # fmt: skip


def cell(**other: Any) -> Seen:
    """One that keeps up, but for what is said."""
    every = {**QUIET, **other}
    due = None if every["rate"] is None else every["jobs"]
    return Seen(**{**every, "due": other.get("due", due)})
