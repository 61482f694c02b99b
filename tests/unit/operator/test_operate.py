"""The operator as a process: it needs nothing of the machine but a way to the cluster."""

import asyncio
import getpass
import json
from pathlib import Path

import pytest

from paceline_operator.handlers.operator import operate
from paceline_operator.handlers.settings import Settings

KUBECONFIG = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


async def test_a_user_without_a_name_can_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose user is a number that no passwd file knows."""

    def nameless() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr(getpass, "getuser", nameless)
    monkeypatch.delenv("POD_ID", raising=False)
    (tmp_path / "config").write_text(json.dumps(KUBECONFIG))
    stop = asyncio.Event()
    stop.set()
    settings = Settings(kubeconfig=str(tmp_path / "config"), namespaces=("ci",), host="127.0.0.1", port=0)
    async with asyncio.timeout(20):
        await operate(settings, stop)
