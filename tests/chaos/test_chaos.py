"""A short run of the real thing: some faults, all parts, no violation."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PATHS = (TESTS, TESTS.parent / "bench")
FAULTS = ("runner-kill", "gateway-kill", "postgres-restart", "bad-cron")


@pytest.mark.timeout(400)
async def test_some_faults_are_got_over_and_every_promise_holds(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATHS))}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chaos", "--minutes", "0.1", "--only", ",".join(FAULTS), "--output", str(tmp_path),
        env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = (each.decode() for each in await process.communicate())
    assert process.returncode == 0, f"{out}\n{err}"
    found = json.loads((tmp_path / "chaos.json").read_text())
    assert {each["fault"]: each["injected"] for each in found["faults"]} == dict.fromkeys(FAULTS, 1)
    assert found["violations"] == []
    assert found["totals"]["jobs"] > 50
    assert found["totals"]["losses"] > 0, "who was killed had work"
    assert found["totals"]["calls"] > 0
    assert found["machine"]["cores"]
    assert found["versions"]["postgres"]
    assert {(each["pool"], each["when"]) for each in found["claims"]} == {
        (pool, when) for pool in ("shared", "fixed") for when in ("before", "after")
    }
    assert "0 violations" in out
    assert f"replay: make chaos MINUTES=0.1 SEED={found['seed']} ONLY={','.join(FAULTS)}" in out
