"""The commands under test find nothing that the shell of whoever runs the tests has said to Paceline."""

import os
from collections.abc import Mapping

OURS = ("PACELINE_TEST_", "PACELINE_HISTORY_", "PACELINE_E2E_", "PACELINE_REAL", "PACELINE_CACHE", "PACELINE_ENGINE",
        "PACELINE_SCREENSHOTS", "PACELINE_ADVISORIES")  # fmt: skip
"""What the tests themselves are told, and where programs are kept."""


def foreign(environment: Mapping[str, str]) -> list[str]:
    """Variables of commands: `paceline dev` and a control plane ask their users to export them."""
    named = (name for name in environment if name.startswith("PACELINE_") and not name.startswith(OURS))
    return [*named, *(name for name in ("DATABASE_URL", "KUBECONFIG") if name in environment)]


for _name in foreign(os.environ):
    del os.environ[_name]
