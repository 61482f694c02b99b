"""The plugin's page names every command that it is about, and shows what they really print."""

import pytest

from paceline_cli.kube.gateway import LABELS, TOKEN_KEY, TOKEN_SECRET
from paceline_cli.report.collect import JOBS, LINES
from paceline_dev import REPOSITORY
from unit.cli.test_status import ONE

PAGE = (REPOSITORY / "docs/reference/kubectl-plugin.md").read_text()


@pytest.mark.parametrize(
    "command",
    [
        "status", "top", "explain", "logs", "jobs list", "jobs show", "jobs cancel", "jobs retry", "drain", "undrain",
        "taint", "untaint", "pause", "resume", "restart", "rollout status", "rollout pause", "rollout resume",
        "rollout history", "rollout undo", "promote", "token create", "token list", "token revoke", "report",
        "dead list", "dead show", "dead redrive", "dead purge", "cron list", "cron put", "cron delete", "cron pause",
        "cron resume", "pool list", "pool show", "pool pause", "pool resume", "pool set", "pool kind-rate", "pool key",
        "pool health",
    ],
)  # fmt: skip
def test_every_command_is_there(command: str) -> None:
    assert f"`{command}" in PAGE


def test_the_output_of_status_is_what_is_printed() -> None:
    assert ONE in PAGE


def test_where_the_gateway_and_its_token_are_is_told() -> None:
    for key, value in LABELS.items():
        assert f"`{key}={value}`" in PAGE
    assert f"`{TOKEN_SECRET}`" in PAGE
    assert f"`{TOKEN_KEY}`" in PAGE


def test_the_bounds_of_a_report_are_those_of_the_code() -> None:
    assert f"the last {LINES:,} lines" in PAGE
    assert f"{JOBS} live jobs of each pool" in PAGE
