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


@pytest.mark.parametrize(("code", "verbs"), [(200, {"patch"}), (201, {"patch", "create"})])
def test_an_apply_that_creates_takes_two_rights(tmp_path: Path, code: int, verbs: set[str]) -> None:
    event = {
        "user": {"username": "o"}, "verb": "patch", "responseStatus": {"code": code},
        "objectRef": {"apiGroup": "paceline.dev", "resource": "runners", "subresource": "status", "name": "x"},
    }  # fmt: skip
    (tmp_path / "audit.log").write_text(json.dumps(event) + "\n")
    (found,) = AuditLog(tmp_path / "audit.log").requests("o")
    assert found.rights == {(verb, "paceline.dev", "runners/status") for verb in verbs}
