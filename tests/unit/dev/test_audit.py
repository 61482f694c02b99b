"""What is read of the API server's audit log."""

import json
from pathlib import Path

import pytest

from paceline_dev.audit import AuditLog


@pytest.mark.parametrize(
    ("uri", "dry"),
    [("/api/v1/namespaces/ci/pods/x?dryRun=All&force=true", True), ("/api/v1/namespaces/ci/pods/dryRun", False)],
)
def test_a_dry_run_is_told_from_a_write(tmp_path: Path, uri: str, dry: bool) -> None:
    event = {
        "user": {"username": "o"}, "verb": "patch", "requestURI": uri,
        "objectRef": {"resource": "pods", "namespace": "ci", "name": "x"}, "responseStatus": {"code": 201},
    }  # fmt: skip
    (tmp_path / "audit.log").write_text(json.dumps(event) + "\n")
    (found,) = AuditLog(tmp_path / "audit.log").writes(user="o")
    assert (found.dry_run, found.name, found.code) == (dry, "x", 201)
