"""The commands of the page about autoscaling do what it says."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline_cli.main import app
from paceline_dev import REPOSITORY

PAGE = (REPOSITORY / "docs/reference/autoscaling.md").read_text()


def test_its_commands_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sample = (REPOSITORY / "manifests/samples/runnergroup.yaml").read_text()
    for name in ("builds.yaml", "cheaper.yaml"):
        Path(name).write_text(sample)
    Path("monday.csv").write_text("0,1\n60,2\n")
    commands = re.findall(r"^paceline (simulate .+)$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        shorter = ["--length", "30m"] if "--curve" in command else []
        result = CliRunner().invoke(app, [*shlex.split(command), *shorter])
        assert result.exit_code == 0, result.output
    assert Path("monday.svg").exists()
