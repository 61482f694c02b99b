"""`python -m paceline_dev node`, as a user runs it."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from cluster.local import TAINT, where
from cluster.place import Place, over
from paceline_dev.__main__ import node
from paceline_dev.control_plane import NODE_KUBECONFIG
from paceline_dev.errors import DevError

pytestmark = pytest.mark.timeout(300)


async def start(*args: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_dev", "node", *args,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def test_it_runs_pods_says_what_happens_and_leaves_nothing(control_plane: Path, place: Place) -> None:
    name = f"typed-{os.getpid()}"
    process = await start(
        "--kubeconfig", str(control_plane / NODE_KUBECONFIG), "--name", name, "--taint", f"{TAINT}:NoSchedule",
        "--image", 'greeter=sh -c "echo hello $0"', "--label", "kind=test", "--json",
    )  # fmt: skip
    try:
        pod = place.pod({"name": "main", "image": "greeter", "args": ["you"]})
        pod["spec"] |= where(name)
        await place.create(pod)
        await place.until(over, "it is over")
        assert await place.log() == "hello you\n"
        found = await place.api.get(f"/api/v1/nodes/{name}")
        assert found["metadata"]["labels"]["kind"] == "test"
        process.send_signal(signal.SIGINT)
        out, _ = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0
    lines = [json.loads(line) for line in out.splitlines()]
    told = [line["message"] for line in lines if line["pod"] == f"{place.namespace}/story"]
    assert [told[0], told[-1]] == ["is here", "is over: Succeeded"]
    assert await place.api.find(f"/api/v1/nodes/{name}") is None


async def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    process = await start("--kubeconfig", str(tmp_path / "none"))
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    wanted = f"error: {tmp_path}/none cannot be used as a kubeconfig: there is no such file"
    assert err.decode().splitlines() == [wanted]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"image": ["nothing"]}, '--image "nothing" is not NAME=COMMAND'),
        ({"taint": ["x"]}, '--taint "x" is not key=value:Effect'),
        ({"label": ["x"]}, '--label "x" is not KEY=VALUE'),
    ],
)
def test_a_bad_option_is_quoted(option: dict[str, list[str]], words: str, tmp_path: Path) -> None:
    with pytest.raises(DevError, match=words):
        node(
            kubeconfig=tmp_path / "none",
            image=option.get("image"),
            taint=option.get("taint"),
            label=option.get("label"),
        )
