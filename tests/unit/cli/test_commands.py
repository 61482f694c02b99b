"""The command line as a whole: quick, documented, and the same under both names."""

import subprocess
import sys

import pytest

from paceline_cli import main
from paceline_dev import REPOSITORY, cli_docs

HEAVY = ("asyncpg", "asyncio", "pydantic", "kopf", "kubernetes", "fastapi", "cronsim", "importlib.metadata")


def _python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, paceline_cli.main; print(*sys.modules)"
    loaded = set(_python("-c", code).stdout.split())
    assert not loaded & set(HEAVY)


def test_both_entry_points_name_what_the_user_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry, name in ((main.main, "paceline"), (main.kubectl_main, "kubectl paceline")):
        monkeypatch.setattr("sys.argv", ["x", "jobs", "--help"])
        with pytest.raises(SystemExit) as end:
            entry()
        assert end.value.code == 0
        assert f"Usage: {name} jobs" in capsys.readouterr().out


def test_the_reference_page_is_what_the_commands_say() -> None:
    assert cli_docs.drift(REPOSITORY / "docs" / "reference") == []


def test_every_command_and_option_explains_itself() -> None:
    page = cli_docs.render()[cli_docs.PAGE]
    for name in ("migrate", "enqueue", "jobs wait", "dead purge", "cron put", "pool grant", "pool kind-rate"):
        assert f"## `paceline {name}`" in page
    assert "|  |" not in page
    assert "None" not in page
