"""Alerts that the operator can tell by itself, for teams without Prometheus: when each begins, ends, and is told."""
